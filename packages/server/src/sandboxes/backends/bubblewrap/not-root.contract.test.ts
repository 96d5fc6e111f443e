/** Bubblewrap under a server that is not root: what one sandbox takes of the counts of the server's user leaves its neighbour some. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest } from '../../../../../../test/environment/backends.ts'
import { connectInside } from '../../../guest/guest-inside.ts'
import type { Inside } from '../../../guest/inside.ts'
import { buildAttackProgram } from '../../contract/isolation/attack-program.ts'
import { COUNTED, leavesSome } from '../../contract/isolation/counts.ts'
import { connectGuest } from '../guest-connection.ts'
import { sandboxPaths } from '../jail/state-directory.ts'

const BUILT = fileURLToPath(new URL('../../../../../../guest/build/', import.meta.url))
const SERVER = fileURLToPath(new URL('not-root-server.ts', import.meta.url))
/** Nobody's; the test gives it what it needs. */
const UID = 61_234

const CANNOT: Readonly<Record<string, string>> = {
  'all descriptors in flight of a user':
    'the kernel counts them for the user and has no bound for a part; the sandboxes have the user of the server',
}

const found = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
const reason = found?.skipReason ?? (process.getuid?.() === 0 ? null : 'the contract itself runs without root here')

describe.skipIf(reason !== null)('bubblewrap under a server that is not root', () => {
  let directory: string
  let server: ChildProcess | null = null
  let insides: readonly Inside[] = []

  beforeAll(async () => {
    directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-not-root-')))
    const [attacks, state] = [join(directory, 'attacks'), join(directory, 'state')]
    for (const path of [attacks, state]) mkdirSync(path)
    buildAttackProgram(join(attacks, 'attack'))
    for (const name of ['holdfast-guest', 'holdfast-launcher']) copyFileSync(join(BUILT, name), join(directory, name))
    for (const path of [directory, attacks]) chmodSync(path, 0o755)
    chownSync(state, UID, UID)
    const values = [state, join(directory, 'holdfast-guest'), join(directory, 'holdfast-launcher'), attacks]
    const child = spawn(process.execPath, [SERVER, ...values], { uid: UID, gid: UID, env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'pipe'] })
    server = child
    const problem = text(child.stderr)
    const lines = createInterface({ input: child.stdout })
    const first = await Promise.race([once(lines, 'line'), problem.then((words) => Promise.reject(new Error(words)))])
    const names: readonly string[] = JSON.parse(String(first[0]))
    insides = await Promise.all(
      names.map(async (name) => connectInside(await connectGuest(join(sandboxPaths(state, name).runDirectory, 'guest.sock')))),
    )
  }, 60_000)
  afterAll(async () => {
    for (const inside of insides) inside.close()
    if (server !== null && server.exitCode === null) {
      const ended = once(server, 'exit')
      server.stdin?.end()
      expect(await ended, 'how the server ended').toEqual([0, null])
    }
    rmSync(directory, { recursive: true, force: true })
  }, 60_000)

  for (const [name, kind] of Object.entries(COUNTED)) {
    const excuse = CANNOT[name]
    if (excuse !== undefined) test.skip(`${name} (cannot: ${excuse})`)
    else
      test(name, { timeout: 60_000 }, async () => {
        const [taker, neighbour] = insides
        if (taker === undefined || neighbour === undefined) throw new Error('the sandboxes were not made')
        await leavesSome(taker, neighbour, kind)
      })
  }
})
