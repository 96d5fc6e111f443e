/** Configuration: what wins over what, and what is refused. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from './config.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const file = (text: string) => writeFileSync(join(home, 'holdfast.yaml'), text)
const load = (environment: NodeJS.ProcessEnv = {}, flags = {}) => loadConfig(flags, { HOLDFAST_HOME: home, ...environment })
const sourceOf = (name: string, config = load()) => config.shown.find((setting) => setting.name === name)?.source

describe('precedence', () => {
  test('without anything the defaults hold', () => {
    const config = load()
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 5410,
      backend: 'auto',
      network: 'off',
      sessions: { idleSeconds: null, maxSandboxes: 100, onStop: 'keep' },
      image: 'python:3.11-slim',
    })
    expect(config.limits).toEqual({ cpus: 1, memoryBytes: 512 * 1024 * 1024, pids: 128, tmpBytes: 64 * 1024 * 1024, openFiles: 1024 })
    expect(sourceOf('port', config)).toBe('default')
  })

  test('the file wins over defaults, the environment over the file, a flag over the environment', () => {
    file('port: 1001\nlimits:\n  memory: 100m\n')
    expect(load().port).toBe(1001)
    expect(load().limits.memoryBytes).toBe(100 * 1024 * 1024)
    expect(load({ HOLDFAST_PORT: '1002' }).port).toBe(1002)
    expect(load({ HOLDFAST_PORT: '1002' }, { port: '1003' }).port).toBe(1003)
  })

  test('every value remembers its source', () => {
    file('port: 1001\n')
    const config = load({ HOLDFAST_BACKEND: 'docker', DOCKER_HOST: 'unix:///x.sock' }, { 'limits.memory': '64m' })
    expect(sourceOf('port', config)).toBe(join(home, 'holdfast.yaml'))
    expect(sourceOf('backend', config)).toBe('HOLDFAST_BACKEND')
    expect(sourceOf('docker.host', config)).toBe('DOCKER_HOST')
    expect(sourceOf('limits.memory', config)).toBe('--memory')
  })

  test('our own variable wins over another program’s', () => {
    expect(load({ DOCKER_HOST: 'unix:///a', HOLDFAST_DOCKER_HOST: 'unix:///b' }).dockerHost).toBe('unix:///b')
  })

  test('none lifts a limit', () => {
    expect(load({ HOLDFAST_LIMITS_MEMORY: 'none', HOLDFAST_LIMITS_CPUS: '0.5' }).limits).toMatchObject({ memoryBytes: null, cpus: 0.5 })
  })
})

describe('refusals', () => {
  test('an unknown key of the file is named', () => {
    file('limits:\n  memroy: 1g\n')
    expect(load).toThrow(/holdfast\.yaml: limits\.memroy is not a known setting/)
  })

  test('an unknown variable is named', () => {
    expect(() => load({ HOLDFAST_PROT: '1' })).toThrow(/HOLDFAST_PROT is not a known setting/)
  })

  test('a secret in the file is refused without being repeated', () => {
    file('api_key: very-secret-very-secret\n')
    expect(load).toThrow(/api_key is a secret .* HOLDFAST_API_KEY/)
    expect(load).not.toThrow(/very-secret/)
  })

  test('a secret is never shown', () => {
    expect(JSON.stringify(load({ HOLDFAST_API_KEY: 'very-secret-very-secret' }).shown)).not.toContain('very-secret')
  })

  test('a short secret is refused without being repeated', () => {
    expect(() => load({ HOLDFAST_API_KEY: 'tiny' })).toThrow(/^HOLDFAST_API_KEY must be at least 16 characters$/)
  })

  test.each([
    [{ HOLDFAST_PORT: '70000' }, /HOLDFAST_PORT "70000" must be at most 65535/],
    [{ HOLDFAST_PORT: 'http' }, /HOLDFAST_PORT "http" must be a port number/],
    [{ HOLDFAST_LIMITS_MEMORY: '1' }, /HOLDFAST_LIMITS_MEMORY "1" must be at least 16777216 bytes \(16 MiB\)/],
    [{ HOLDFAST_LIMITS_MEMORY: 'much' }, /HOLDFAST_LIMITS_MEMORY "much" must be a size such as 512m/],
    [{ HOLDFAST_LIMITS_PIDS: '2' }, /HOLDFAST_LIMITS_PIDS "2" must be at least 8/],
    [{ HOLDFAST_LIMITS_CPUS: '0' }, /HOLDFAST_LIMITS_CPUS "0" must be at least 0\.01/],
    [{ HOLDFAST_LIMITS_CPUS: '-1' }, /HOLDFAST_LIMITS_CPUS "-1" must be a number of processors/],
    [{ HOLDFAST_BACKEND: 'host' }, /HOLDFAST_BACKEND "host" must be auto, podman/],
    [{ HOLDFAST_HOME: 'relative' }, /HOLDFAST_HOME "relative" must be an absolute path/],
    [{ HOLDFAST_MOUNTS_ALLOWED_ROOTS: '/a:b' }, /HOLDFAST_MOUNTS_ALLOWED_ROOTS "\/a:b" 1: must be an absolute path/],
  ])('%o is refused by a sentence with the value', (environment, sentence) => {
    expect(() => load(environment)).toThrow(sentence)
  })

  test('a file that is no YAML is refused by name', () => {
    file('port: [1\n')
    expect(load).toThrow(/holdfast\.yaml is not valid YAML/)
  })

  test('a file that was asked for must exist', () => {
    expect(() => load({ HOLDFAST_CONFIG: join(home, 'other.yaml') })).toThrow(/cannot read the configuration file .*other\.yaml/)
  })
})
