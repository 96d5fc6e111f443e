/**
 * After a sequence: the audit is whole, and closing everything leaves nothing behind.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { verifyAudit } from '../../packages/server/src/sessions/audit/verify.ts'
import { DRAIN_MS, EVENTS_MS, TIMES } from './rules.ts'
import { settle } from './settle.ts'
import { filesLeft } from './system.ts'
import type { System } from './system.ts'
import { isClosed } from './world.ts'
import type { World } from './world.ts'

export async function checkAudit({ store }: System): Promise<void> {
  const problems: unknown[] = []
  await verifyAudit({ store, report: (problem) => problems.push(problem) })
  if (problems.length > 0) throw new Error(`the audit is not whole: ${JSON.stringify(problems)}`)
}

export async function closeAndCheckLeftovers(system: System, world: World): Promise<void> {
  const { sessions } = system.plane
  Object.assign(system.backend.trouble, { create: false, destroy: false })
  for (const [index, id] of system.sessionIds.entries()) {
    const session = world.sessions[index]
    if (session === undefined || session.isPurged) continue
    const operator = await system.official('operator', session.owner)
    await sessions.steering.unhold(operator, id)
    if (!isClosed(session)) await sessions.steering.cancel(operator, id)
  }
  // One whose lease ended drains in its own time.
  system.time.advance(DRAIN_MS)
  await sessions.sweep()
  await settle(system)
  await expectLeft(system, 'sandboxes', await system.backend.list(), [])
  checkProcesses(system)

  system.time.advance(TIMES.recordMs)
  await sessions.sweep()
  await settle(system)
  await expectLeft(system, 'files', filesLeft(system), { workspaces: [], output: [] })
  // Events go by their own age, a few with every sweep.
  system.time.advance(EVENTS_MS)
  for (let sweeps = 0; sweeps < 3; sweeps += 1) await sessions.sweep()
  for (const table of ['sessions', 'executions', 'events', 'sandboxes']) {
    const rows = await system.store.read((sql) => sql.all(`SELECT * FROM ${table}`))
    await expectLeft(system, table, rows, [])
  }
  await checkAudit(system)
}

async function expectLeft(system: System, what: string, left: unknown, expected: unknown): Promise<void> {
  if (isDeepStrictEqual(left, expected)) return
  throw new Error([`${what} left when everything was closed: ${JSON.stringify(left)}`, ...system.logged.slice(-10)].join('\n'))
}

/** No program that a session started lives on, in the foreground or behind it. */
function checkProcesses({ scratch }: System): void {
  const alive = readdirSync(scratch).filter((name) => {
    const pid = readFileSync(join(scratch, name), 'utf8').trim()
    return pid !== '' && existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep')
  })
  if (alive.length > 0) throw new Error(`programs live on after their sessions: ${alive.join(' ')}`)
}
