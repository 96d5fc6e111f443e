/**
 * Where settings come from: the file and the environment, each as raw values under setting names.
 *
 * Nothing is checked here but the names: a key nobody reads is a mistake, so it is an error that names the key.
 */
import { readFileSync } from 'node:fs'
import { HoldfastError } from '@holdfast/protocol'
import { parse } from 'yaml'
import { isSettingName, SETTING_NAMES, settingOf, variableOf } from './settings.ts'
import type { SettingName } from './settings.ts'

/** A raw value and the place it was read from, as `config show` prints it. */
export interface RawValue {
  readonly value: unknown
  readonly source: string
}
export type RawValues = ReadonlyMap<SettingName, RawValue>

/** Read by other parts (the set-up, the tests, clients), so not mistakes. */
const FOREIGN_VARIABLE = /^HOLDFAST_(CONFIG|URL|CI_.*|TEST_.*|REQUIRE_.*|BENCH_.*|SETUP_.*|TOOLS_.*)$/

/** An absent file is fine unless it was asked for by name. */
export function fileValues(path: string, isRequired: boolean): RawValues {
  const content = readIfPresent(path, isRequired)
  const values = new Map<SettingName, RawValue>()
  for (const [name, value] of leaves(parseYaml(content, path), '', path)) {
    if (!isSettingName(name))
      throw new HoldfastError('config_invalid', `${path}: ${name} is not a known setting`, { file: path, key: name })
    if (settingOf(name).secret)
      throw new HoldfastError('config_invalid', `${path}: ${name} is a secret and has no place in the file; set ${variableOf(name)}`, {
        file: path,
        key: name,
      })
    if (name === 'home')
      throw new HoldfastError('config_invalid', `${path}: home decides where this file lies; set HOLDFAST_HOME instead`, {
        file: path,
        key: name,
      })
    values.set(name, { value, source: path })
  }
  return values
}

export function environmentValues(environment: NodeJS.ProcessEnv): RawValues {
  const byVariable = new Map(SETTING_NAMES.map((name) => [variableOf(name), name]))
  const values = new Map<SettingName, RawValue>()
  for (const name of SETTING_NAMES) {
    const alias = settingOf(name).alias
    const value = alias === undefined ? undefined : environment[alias]
    if (alias !== undefined && value) values.set(name, { value, source: alias })
  }
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith('HOLDFAST_') || value === undefined || FOREIGN_VARIABLE.test(variable)) continue
    const name = byVariable.get(variable)
    if (name === undefined)
      throw new HoldfastError('config_invalid', `the environment variable ${variable} is not a known setting`, { key: variable })
    if (value !== '') values.set(name, { value, source: variable })
  }
  return values
}

const CGROUP_LIMITS = ['limits.cpus', 'limits.memory', 'limits.pids'] as const satisfies readonly SettingName[]

/** `limits: none` stands for each limit that the same source does not set itself. */
export function withoutLimits(values: RawValues): RawValues {
  const limits = values.get('limits')
  if (limits?.value !== 'none') return values
  return new Map([...CGROUP_LIMITS.map((name) => [name, limits] as const), ...values])
}

function readIfPresent(path: string, isRequired: boolean): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
    if (isMissing && !isRequired) return ''
    throw new HoldfastError('config_invalid', `cannot read the configuration file ${path}`, { file: path }, { cause })
  }
}

function parseYaml(content: string, path: string): unknown {
  try {
    return parse(content)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    throw new HoldfastError('config_invalid', `${path} is not valid YAML: ${reason}`, { file: path }, { cause })
  }
}

function* leaves(node: unknown, prefix: string, path: string): Generator<[name: string, value: unknown]> {
  if (node === null || node === undefined) return
  if (typeof node !== 'object' || Array.isArray(node))
    throw new HoldfastError('config_invalid', `${path}: ${prefix || 'the file'} must be a mapping of settings`, { file: path })
  for (const [key, value] of Object.entries(node)) {
    const name = prefix === '' ? key : `${prefix}.${key}`
    const isGroup = SETTING_NAMES.some((setting) => setting.startsWith(`${name}.`))
    const isOneWord = isSettingName(name) && typeof value !== 'object'
    if (isGroup && !isOneWord) yield* leaves(value, name, path)
    else yield [name, value]
  }
}
