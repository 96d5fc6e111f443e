/** Bubblewrap under a server that is not root: what one sandbox takes of the counts of a user leaves its neighbour some. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest } from '../../../../../../test/environment/backends.ts'
import { ACCOUNT, spawnAsAccount, SUBORDINATE_IDS } from '../../../../../../test/servers/plain-account.ts'
import { connectInside } from '../../../guest/guest-inside.ts'
import type { Inside } from '../../../guest/inside.ts'
import { buildAttackProgram } from '../../contract/isolation/attack-program.ts'
import { COUNTED, leavesSome, problemWithoutUsers } from '../../contract/isolation/counts.ts'
import { lineFrom } from '../../contract/outcome.ts'
import { connectGuest } from '../guest-connection.ts'
import { readState, sandboxPaths } from '../jail/state-directory.ts'

const BUILT = fileURLToPath(new URL('../../../../../../guest/build/', import.meta.url))
const SERVER = fileURLToPath(new URL('not-root-server.ts', import.meta.url))

const found = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
const reason = found?.skipReason ?? (process.getuid?.() === 0 ? null : 'the contract itself runs without root here')

for (const hasSubordinateIds of [true, false])
  describe.skipIf(reason !== null)(
    `bubblewrap under a server that is not root, ${hasSubordinateIds ? 'with' : 'without'} subordinate ids`,
    () => {
      let directory: string
      let server: ChildProcess | null = null
      let insides: readonly Inside[] = []
      let guests: readonly number[] = []

      beforeAll(async () => {
        directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-not-root-')))
        const [attacks, state] = [join(directory, 'attacks'), join(directory, 'state')]
        for (const path of [attacks, state]) mkdirSync(path)
        buildAttackProgram(join(attacks, 'attack'))
        for (const name of ['holdfast-guest', 'holdfast-launcher']) copyFileSync(join(BUILT, name), join(directory, name))
        for (const path of [directory, attacks]) chmodSync(path, 0o755)
        chownSync(state, ACCOUNT.uid, ACCOUNT.uid)
        const values = [state, join(directory, 'holdfast-guest'), join(directory, 'holdfast-launcher'), attacks]
        const child = spawnAsAccount([process.execPath, SERVER, ...values], { directory, hasSubordinateIds })
        server = child
        const problem = text(child.stderr)
        const lines = createInterface({ input: child.stdout })
        const first = await Promise.race([once(lines, 'line'), problem.then((words) => Promise.reject(new Error(words)))])
        const names: readonly string[] = JSON.parse(String(first[0]))
        insides = await Promise.all(
          names.map(async (name) => connectInside(await connectGuest(join(sandboxPaths(state, name).runDirectory, 'guest.sock')))),
        )
        const states = await Promise.all(names.map((name) => readState(state, name)))
        guests = states.flatMap((each) => each?.processes ?? []).flatMap(({ role, pid }) => (role === 'init' ? [pid] : []))
      })
      afterAll(async () => {
        for (const inside of insides) inside.close()
        if (server !== null && server.exitCode === null) {
          const ended = once(server, 'exit')
          server.stdin?.end()
          expect(await ended, 'how the server ended').toEqual([0, null])
        }
        rmSync(directory, { recursive: true, force: true })
      })

      const both = () => {
        const [taker, neighbour] = insides
        if (taker === undefined || neighbour === undefined) throw new Error('the sandboxes were not made')
        return { taker, neighbour }
      }

      for (const [name, kind] of Object.entries(COUNTED)) {
        const excuse = hasSubordinateIds ? undefined : problemWithoutUsers(kind)
        if (excuse !== undefined) test.skip(`${name} (cannot: ${excuse})`)
        else
          test(name, async () => {
            const { taker, neighbour } = both()
            await leavesSome(taker, neighbour, kind)
          })
      }

      // Epoll watches are counted for the real uid and for nothing else; taking all of them would need a gigabyte of kernel memory.
      test.runIf(hasSubordinateIds)(
        'commands, their guest, their neighbours and the server are all different users of the host',
        async () => {
          const { taker, neighbour } = both()
          const users: number[] = [ACCOUNT.uid]
          for (const [inside, mark] of [
            [taker, '86401'],
            [neighbour, '86402'],
          ] as const) {
            const { output, id } = await inside.exec({ argv: ['sh', '-c', `echo ready; exec sleep ${mark}`] })
            expect(await lineFrom(output, () => true)).toBe('ready')
            // It prints before it becomes `sleep`.
            await expect.poll(() => usersOf(['sleep', mark])).toHaveLength(1)
            users.push(...usersOf(['sleep', mark]))
            await inside.processes.kill({ id })
          }
          users.push(...guests.map(userOf))
          expect(users).toHaveLength(5)
          expect(new Set(users).size).toBe(5)
          expect(users.slice(1).every(isSubordinate)).toBe(true)
        },
      )
    },
  )

const isSubordinate = (uid: number) => uid >= SUBORDINATE_IDS.first && uid < SUBORDINATE_IDS.first + SUBORDINATE_IDS.count

/** The real uids of the processes with this command line, as the host sees them. */
function usersOf(words: readonly string[]): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => readProcess(pid, 'cmdline') === `${words.join('\0')}\0`).map((pid) => userOf(Number(pid)))
}

function userOf(pid: number): number {
  return Number(/^Uid:\t(\d+)/m.exec(readProcess(pid, 'status'))?.[1])
}

function readProcess(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    // It ended meanwhile.
    return ''
  }
}
