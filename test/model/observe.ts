/**
 * What can be seen of the system and of the model, in one shape, to be compared after every action.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expiryOf as systemExpiryOf } from '../../packages/server/src/sessions/lifecycle/deadlines.ts'
import type { SessionRow } from '../../packages/server/src/store/tables/sessions.ts'
import { countSessions } from '../../packages/server/src/store/tables/tenants.ts'
import { expiryOf } from './model-deadlines.ts'
import { noticeWords } from './notice-words.ts'
import { OWNER_NAMES } from './rules.ts'
import type { System } from './system.ts'
import { countsFor, isClosed, isLive, isServed, runningIn } from './world.ts'
import type { ModelSession, World } from './world.ts'

/** Sandboxes are named by the first session in them. */
export type Seen = Readonly<Record<string, unknown>>

export function seenInModel(world: World): Seen {
  return {
    sessions: world.sessions.map((session, index) => (session.isPurged ? 'purged' : seenSession(world, session, index))),
    sandboxes: world.boxes.length,
    counts: OWNER_NAMES.map((owner) => countsFor(world, owner)),
  }
}

function seenSession(world: World, session: ModelSession, index: number): Seen {
  const { state, owner, incarnation, suspendReason, closeReason, closeDetail, isHeld, notice, workspace, label, cleanup } = session
  const { at, reason } = expiryOf(session)
  return {
    ...{ state, owner, incarnation, closeReason, closeDetail, isHeld, workspace, label },
    // Only one who can work in it is ever told.
    notice: isServed(session) ? notice : null,
    suspendReason: state === 'suspended' ? suspendReason : null,
    running: runningIn(session).length,
    expires: `${reason} ${at === null ? null : at - world.now}`,
    lease: isLive(session) && session.leaseAt !== null ? session.leaseAt - world.now : null,
    activity: isServed(session) ? session.activityAt - world.now : null,
    drain: state === 'closing' && session.drainUntil !== null ? session.drainUntil - world.now : null,
    cleanup: isClosed(session) ? seenCleanup(cleanup, session.isPacked) : null,
    files: session.isPacked ? 'hidden' : isLive(session) ? (session.files ?? []) : session.files,
    in: session.box === null ? null : world.sessions.findIndex(({ box }) => box === session.box),
    executions: session.executions.map(({ number, status, exitCode, kind, name }) => `${number} ${kind} ${name} ${status} ${exitCode}`),
    // Whoever changes nothing writes nothing: what others read of it stays as good as it was.
    isTouched: session.isTouched,
    index,
  }
}

/** Of two that leave a sandbox at the same time, either may be the last. */
function seenCleanup(cleanup: ModelSession['cleanup'], isPacked: boolean): ModelSession['cleanup'] {
  if (cleanup === null) return null
  const { verified, sandbox, workspace } = cleanup
  return { verified, workspace, sandbox: isPacked && sandbox === 'kept' ? 'destroyed' : sandbox }
}

export async function seenInSystem(system: System): Promise<Seen> {
  const rows = await Promise.all(system.sessionIds.map((id) => rowOf(system, id)))
  const sessions: unknown[] = []
  for (const [index, row] of rows.entries()) sessions.push(row === null ? 'purged' : await seenRow(system, rows, row, index))
  const counts = []
  for (const owner of OWNER_NAMES) {
    const { tenantId } = (await system.caller(owner)).visibility
    counts.push(await system.store.read((sql) => countSessions(sql, tenantId, owner)))
  }
  return { sessions, sandboxes: (await system.backend.list()).length, counts }
}

/** Whichever tenant it is in. */
async function rowOf(system: System, id: string): Promise<SessionRow | null> {
  for (const owner of OWNER_NAMES) {
    const { tenantId } = (await system.caller(owner)).visibility
    const row = await system.plane.sessions.reads.hosted({ id, tenantId })
    if (row !== null) return row
  }
  return null
}

async function seenRow(system: System, rows: readonly (SessionRow | null)[], row: SessionRow, index: number): Promise<Seen> {
  const { state, owner, incarnation, closeReason, closeDetail, workspace, running, cleanup } = row
  const { at, reason } = systemExpiryOf(row)
  return {
    ...{ state, owner, incarnation, closeReason, closeDetail, workspace, running },
    isHeld: row.heldAt !== null,
    notice: state === 'idle' || state === 'active' ? noticeWords(row.notice) : null,
    label: row.labels['label'] ?? null,
    suspendReason: state === 'suspended' ? row.suspendReason : null,
    expires: `${reason} ${at === null ? null : at - system.time.now}`,
    lease: isLiveState(state) && row.leaseAt !== null ? row.leaseAt - system.time.now : null,
    activity: state === 'idle' || state === 'active' ? row.activityAt - system.time.now : null,
    drain: state === 'closing' && row.drainUntil !== null ? row.drainUntil - system.time.now : null,
    cleanup: seenCleanup(cleanup, row.packKey !== null),
    files: row.packKey === null ? filesOf(system, row.id, isLiveState(state)) : 'hidden',
    in: row.sandboxId === null ? null : rows.findIndex((other) => other?.sandboxId === row.sandboxId),
    executions: await executionsOf(system, row),
    isTouched: isTouched(system, row),
    index,
  }
}

/** Since the last look, which this is now. */
function isTouched({ versions }: System, { id, version }: SessionRow): boolean {
  const known = versions.get(id)
  versions.set(id, version)
  return version !== known
}

function isLiveState(state: string): boolean {
  return ['pending', 'idle', 'active', 'suspended'].includes(state)
}

/** Of a live session only what is in it counts: whether an empty directory is made sooner or later makes no difference. */
function filesOf({ home }: System, id: string, isLiveOne: boolean): readonly string[] | null {
  const directory = join(home.workspacesDir, id, 'files')
  if (!existsSync(directory)) return isLiveOne ? [] : null
  const log = join(directory, 'log')
  return existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : []
}

async function executionsOf(system: System, { id }: SessionRow): Promise<readonly string[]> {
  const rows = await system.store.read((sql) =>
    sql.all(`SELECT id, kind, name, status, exit_code FROM executions WHERE session_id = ?`, id),
  )
  const numbers = new Map([...system.executionIds].map(([number, executionId]) => [executionId, number]))
  return rows
    .map((row) => ({ row, number: numbers.get(String(row.id)) ?? 0 }))
    .toSorted((left, right) => left.number - right.number)
    .map(({ row, number }) => [number, row.kind, row.name, row.status, row.exit_code].map(String).join(' '))
}
