/**
 * One step of a session's life: the row as it will be, and what is told about it.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The functions of this folder are pure: a row, a trigger and the time give a step, or a `HoldfastError` that says why not.
 * Writing it down, with its event and its audit row, is `../change.ts`.
 */
import type { EventType, ExecutionCause } from '@holdfast/protocol'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { nextDeadline } from './deadlines.ts'

export interface EventDraft {
  readonly type: EventType
  readonly reason?: string
  readonly data?: Readonly<Record<string, string | number | boolean | ExecutionCause | null>>
}

export interface Step {
  readonly session: SessionRow
  readonly events: readonly EventDraft[]
}

/** Nothing to change: the answer to a repeated wish. */
export function unchanged(session: SessionRow): Step {
  return { session, events: [] }
}

/** The changed row with its deadline computed anew. */
export function step(session: SessionRow, change: Partial<SessionRow>, ...events: readonly EventDraft[]): Step {
  const changed = { ...session, ...change }
  const next = nextDeadline(changed)
  return { session: { ...changed, deadlineAt: next?.at ?? null, deadline: next?.kind ?? null }, events }
}
