/**
 * The attack program: built once from its C sources, then run inside sandboxes.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { ExecRequest, Inside } from '../../../guest/inside.ts'
import type { Ran } from '../outcome.ts'
import { run } from '../outcome.ts'

const SOURCES = fileURLToPath(new URL('attacks/', import.meta.url))

/** Where the program lies inside, by a read-only mount. */
export const ATTACK = '/mnt/attacks/attack'

/** Static, so that it starts in any image. */
export function buildAttackProgram(path: string): void {
  const sources = readdirSync(SOURCES).filter((name) => name.endsWith('.c'))
  const flags = ['-std=c17', '-D_GNU_SOURCE', '-O1', '-static', '-Wall', '-Wextra', '-Werror']
  execFileSync('cc', [...flags, '-o', path, ...sources.map((name) => join(SOURCES, name))], { stdio: 'inherit' })
}

/** Makes the attack and gives what it said. */
export function attack(inside: Inside, name: string, ...values: readonly string[]): Promise<Ran> {
  return run(inside, [ATTACK, name, ...values])
}

/** The sandbox still runs commands. */
export async function runsCommands(inside: Inside): Promise<void> {
  expect(await attack(inside, 'show', '/proc/self/status')).toMatchObject({ exitCode: 0 })
}

/** The attack was made, and failed. An attack that could not be made proves nothing and fails here too. */
export async function holds(inside: Inside, name: string, ...values: readonly string[]): Promise<string> {
  return holdsAs(inside, {}, name, ...values)
}

/** The same, by somebody. */
export async function holdsAs(
  inside: Inside,
  who: Pick<ExecRequest, 'uid' | 'home'>,
  name: string,
  ...values: readonly string[]
): Promise<string> {
  const ran = await run(inside, { argv: [ATTACK, name, ...values], ...who })
  expect({ said: ran.stdout.trimEnd(), exitCode: ran.exitCode, signal: ran.signal }, `${name} ${values.join(' ')}`).toMatchObject({
    said: expect.stringMatching(/^held: /m),
    exitCode: 0,
  })
  return ran.stdout
}
