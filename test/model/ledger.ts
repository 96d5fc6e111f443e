/**
 * What the server told about a sequence: its events add up to what is, and no complaint is among its log lines.
 */
import { at } from './model-life.ts'
import type { System } from './system.ts'
import type { ModelExecution, World } from './world.ts'

/** What a move is called where it is not called by the state it leads to. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  'null pending': ['session.created'],
  'pending idle': ['session.idle', 'session.resumed', 'session.rebound'],
  'suspended pending': ['session.resuming', 'session.rebinding'],
}

/** Why one is suspended that had a sandbox. One that is just being given its sandbox can only fail to get it. */
const SUSPENDED_WHILE_SERVED = ['caller', 'idle', 'server_stopped', 'sandbox_lost']

/** What the server says when it could not do what it has to do by itself, whatever the backend does. */
const COMPLAINTS = ['session-not-swept', 'sweep-failed', 'loss-not-recorded', 'execution-not-recorded']

interface Event {
  readonly seq: number
  readonly type: string
  readonly from: string | null
  readonly to: string | null
  readonly reason: string | null
  readonly data: { readonly execution_id?: string; readonly status?: string }
}

/** Events have no gaps and lead, one after the other, to where each session is; each execution began once, and ended as it did. */
export async function checkLedger(system: System, world: World): Promise<void> {
  for (const [index, id] of system.sessionIds.entries()) {
    const session = at(world, index)
    const events = await eventsOf(system, id)
    const state = walk(events, index)
    if (state !== session.state) throw new Error(`the events of session ${index} lead to ${state}, it is ${session.state}`)
    for (const execution of session.executions) checkExecution(system, events, execution)
  }
  const complaint = system.logged.find((line) => COMPLAINTS.some((event) => line.includes(`"event":"${event}"`)))
  if (complaint !== undefined) throw new Error(`the server complains: ${complaint}`)
}

async function eventsOf({ store }: System, sessionId: string): Promise<readonly Event[]> {
  const rows = await store.read((sql) => sql.all(`SELECT seq, type, body FROM events WHERE session_id = ? ORDER BY seq`, sessionId))
  return rows.map(({ seq, type, body }) => ({ ...JSON.parse(String(body)), seq, type }))
}

function walk(events: readonly Event[], index: number): string | null {
  let state: string | null = null
  for (const [place, { seq, type, from, to, reason }] of events.entries()) {
    if (seq !== place + 1) throw new Error(`the events of session ${index} have a gap at ${place + 1}`)
    if (to === null) continue
    if (from !== state) throw new Error(`event ${seq} of session ${index} comes from ${from}, which was ${state}`)
    state = to
    const words = MOVES[`${from} ${to}`] ?? [`session.${to}`]
    if (!words.includes(type)) throw new Error(`event ${seq} of session ${index} calls ${from} to ${to} ${type}`)
    if (from === 'pending' && to === 'suspended' && SUSPENDED_WHILE_SERVED.includes(reason ?? ''))
      throw new Error(`event ${seq} of session ${index} suspends what has no sandbox yet, for ${reason}`)
  }
  return state
}

function checkExecution({ executionIds }: System, events: readonly Event[], { number, kind, status }: ModelExecution): void {
  const noun = kind === 'process' ? 'process' : 'execution'
  const told = events.filter(({ data }) => data.execution_id === executionIds.get(number))
  const words = told.map(({ type, data }) => (data.status === undefined ? type : `${type} ${data.status}`))
  const expected = status === 'running' ? [`${noun}.started`] : [`${noun}.started`, `${noun}.ended ${status}`]
  if (words.join(', ') !== expected.join(', ')) throw new Error(`execution ${number}, ${status}, is told of as ${words.join(', ')}`)
}
