/**
 * What holds for a server that has settled, whatever happened to it before: the store's rows among themselves, and against the
 * backend, the guests, the disk.
 */
import { readdir } from 'node:fs/promises'
import { DEFAULT_TENANT_ID } from '../../../packages/server/src/access/principal.ts'
import { connectInside } from '../../../packages/server/src/guest/guest-inside.ts'
import type { AuditProblem } from '../../../packages/server/src/sessions/audit/check-place.ts'
import { verifyAudit } from '../../../packages/server/src/sessions/audit/verify.ts'
import { isClosed } from '../../../packages/server/src/sessions/lifecycle/state.ts'
import { eventsOfSession } from '../../../packages/server/src/store/tables/events.ts'
import type { EventRow } from '../../../packages/server/src/store/tables/events.ts'
import { listExecutions } from '../../../packages/server/src/store/tables/executions.ts'
import type { ExecutionRow } from '../../../packages/server/src/store/tables/executions.ts'
import { hostedSandboxes } from '../../../packages/server/src/store/tables/sandboxes.ts'
import type { SandboxRow } from '../../../packages/server/src/store/tables/sandboxes.ts'
import { listSessions } from '../../../packages/server/src/store/tables/sessions.ts'
import type { SessionRow } from '../../../packages/server/src/store/tables/sessions.ts'
import { countSessions } from '../../../packages/server/src/store/tables/tenants.ts'
import type { SessionCounts } from '../../../packages/server/src/store/tables/tenants.ts'
import { JOURNAL_EXIT_CODE } from './actions.ts'
import type { Aftermath } from './aftermath.ts'
import type { ServerLife } from './server-life.ts'

const EVERYBODY = { tenantId: DEFAULT_TENANT_ID, owner: null, groups: [] }
const MANY = 10_000

/** What the rows say at one moment. */
interface Moment {
  /** All of the tenant, whichever server hosts them. */
  readonly all: readonly SessionRow[]
  readonly sessions: readonly SessionRow[]
  readonly executions: ReadonlyMap<string, readonly ExecutionRow[]>
  readonly events: ReadonlyMap<string, readonly EventRow[]>
  readonly sandboxes: readonly SandboxRow[]
  readonly counts: SessionCounts
}

function momentOf({ store, home }: ServerLife): Promise<Moment> {
  return store.read(async (sql) => {
    const all = await listSessions(sql, EVERYBODY, {}, null, MANY)
    const sessions = all.filter(({ serverId }) => serverId === home.serverId)
    const executions = new Map<string, readonly ExecutionRow[]>()
    const events = new Map<string, readonly EventRow[]>()
    for (const { id } of sessions) {
      executions.set(id, await listExecutions(sql, DEFAULT_TENANT_ID, id, null, MANY))
      events.set(id, (await eventsOfSession(sql, EVERYBODY, id, 0, MANY))?.events ?? [])
    }
    const sandboxes = await hostedSandboxes(sql, home.serverId)
    return { all, sessions, executions, events, sandboxes, counts: await countSessions(sql, DEFAULT_TENANT_ID, 'owner') }
  })
}

/** Everything below, as problems of the aftermath. */
export async function checkInvariants(aftermath: Aftermath): Promise<void> {
  const { life, expect } = aftermath
  const moment = await momentOf(life)
  const { all, sessions, counts } = moment
  await checkSandboxes(aftermath, moment)
  await checkDirectories(aftermath, moment)
  for (const session of sessions) {
    const executions = moment.executions.get(session.id) ?? []
    const running = executions.filter(({ status }) => status === 'running')
    expect(session.running === running.length, `${session.id} counts ${session.running} running, ${running.length} are`)
    expect(running.length === 0 || !isClosed(session.state), `something runs in ${session.id}, which is ${session.state}`)
    expect(!isClosed(session.state) || session.cleanup?.verified === true, `the clean-up of ${session.id} was not verified`)
    for (const execution of executions) await checkEnd(aftermath, session, execution)
    checkEvents(aftermath, session, executions, moment.events.get(session.id) ?? [])
  }
  const open = all.filter(({ state }) => !isClosed(state))
  const computing = open.filter(({ state }) => state !== 'suspended')
  expect(counts.open === open.length, `${counts.open} sessions count towards the quota, ${open.length} are open`)
  expect(counts.compute === computing.length, `${counts.compute} sessions count as computing, ${computing.length} do`)
  const keys = open.map(({ owner, keyHash }) => `${owner} ${keyHash}`)
  expect(new Set(keys).size === keys.length, 'a key has several open sessions')
  const report = ({ kind, chain, seq, message }: AuditProblem) => aftermath.problem(`audit: ${kind} ${chain} ${seq} ${message}`)
  await verifyAudit({ store: life.store, report })
}

/** Rows, the backend's list and the guests speak of the same sandboxes and the same programs. */
async function checkSandboxes({ life, expect }: Aftermath, { sessions, executions, sandboxes: rows }: Moment): Promise<void> {
  const listed = await life.backend.list()
  const names = listed.map(({ name }) => name).toSorted()
  expect(
    names.join() ===
      rows
        .map(({ id }) => id)
        .toSorted()
        .join(),
    `the backend holds ${names.join()}, the rows say ${rows.map(({ id }) => id).join()}`,
  )
  expect(
    listed.every(({ running }) => running),
    'a sandbox does not run',
  )
  for (const { id, state } of rows) {
    const inhabitants = sessions.filter(({ sandboxId }) => sandboxId === id)
    expect(state === 'ready' && inhabitants.length > 0, `the sandbox ${id} is ${state} and has ${inhabitants.length} sessions`)
    const inside = await connectInside(await (await life.backend.attach(id)).dial())
    const inGuest = (await inside.processes.list()).filter((process) => process.state === 'running').flatMap(({ tag }) => tag ?? [])
    inside.close()
    const ofRows = inhabitants.flatMap((session) => executions.get(session.id) ?? [])
    const inRows = ofRows.filter(({ status }) => status === 'running').map((execution) => execution.id)
    expect(inGuest.toSorted().join() === inRows.toSorted().join(), `in ${id} run ${inGuest.join()}, the rows say ${inRows.join()}`)
  }
  for (const { id, state, sandboxId } of sessions) {
    const isServed = state === 'idle' || state === 'active'
    expect(isServed === (sandboxId !== null), `the session ${id} is ${state} with the sandbox ${sandboxId}`)
    expect(sandboxId === null || names.includes(sandboxId), `the session ${id} has the sandbox ${sandboxId}, which is not there`)
  }
}

/** Workspaces of sessions, output of executions, and nothing else. */
async function checkDirectories({ life, facts, expect }: Aftermath, { sessions, executions }: Moment): Promise<void> {
  const kept = sessions.filter(({ state, cleanup }) => !isClosed(state) || cleanup?.workspace === 'kept')
  const workspaces = await readdir(life.home.workspacesDir)
  const unknown = workspaces.filter((name) => !kept.some(({ id }) => id === name))
  expect(unknown.length === 0 || facts['filesGone'] === true, `workspaces of nobody: ${unknown.join()}`)
  // A packed one has its files elsewhere, and here only notes about them.
  const missing = kept.filter(({ id, packKey }) => packKey === null && !workspaces.includes(id)).map(({ id }) => id)
  expect(missing.length === 0 || facts['filesGone'] === true, `sessions without a workspace: ${missing.join()}`)
  const known = new Set([...executions.values()].flat().map(({ id }) => id))
  const strays = (await readdir(life.home.outputDir)).filter((name) => !known.has(name.replace(/\.[01]$/, '')))
  expect(strays.length === 0, `output of nobody: ${strays.join()}`)
}

/** What is said of its end is what happened. */
async function checkEnd({ facts, file, problem }: Aftermath, session: SessionRow, execution: ExecutionRow): Promise<void> {
  const { id, status, exitCode, signal, cancelAt } = execution
  const journal = (await file(session.id, 'journal')) ?? ''
  switch (status) {
    case 'running':
      return
    case 'completed':
      if (exitCode !== JOURNAL_EXIT_CODE || signal !== null) problem(`${id} is said to have ended by itself with ${exitCode} ${signal}`)
      return
    case 'cancelled':
      if (facts['asked'] !== true && facts[`asked ${session.id}`] !== true && cancelAt === null)
        problem(`${id} is said to be cancelled, and nobody asked for it`)
      return
    // Where nothing was lost: only what never began, or what was killed because half of its input is lost.
    case 'lost':
    case 'not_started':
      if (facts['sandboxLost'] !== true && journal !== '' && (facts['tearsInput'] !== true || journal.includes('end')))
        problem(`${id} is said to be ${status}, and its journal says: ${journal}`)
      return
    case 'timed_out':
      problem(`${id} is said to have timed out, and had no time-out`)
      return
    case 'workspace_full':
      problem(`${id} is said to have filled a workspace that has no bound`)
  }
}

/** Numbered without a gap, up to the row's own number, and with one beginning and one end for each execution. */
function checkEvents({ expect }: Aftermath, session: SessionRow, executions: readonly ExecutionRow[], events: readonly EventRow[]): void {
  expect(
    events.every(({ seq }, index) => seq === index + 1) && events.length === session.eventSeq,
    `the events of ${session.id} have a gap`,
  )
  const told = new Map<string, string[]>()
  let state: unknown = null
  for (const { type, body } of events) {
    const { to, data } = JSON.parse(body) as { readonly to: unknown; readonly data: Readonly<Record<string, unknown>> }
    state = to ?? state
    if (typeof data['execution_id'] !== 'string') continue
    const ofExecution = told.get(data['execution_id']) ?? []
    told.set(data['execution_id'], [...ofExecution, type.replace(/^\w+\./, '')])
  }
  expect(state === session.state, `the events of ${session.id} lead to ${String(state)}, its row is ${session.state}`)
  for (const { id, status } of executions) {
    const expected = status === 'running' ? 'started' : 'started ended'
    expect(told.get(id)?.join(' ') === expected, `the events of ${id}, which is ${status}, are: ${told.get(id)?.join(' ')}`)
  }
}
