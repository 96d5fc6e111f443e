/**
 * Events read back: of one session by its sequence, or of a tenant in the order in which they became readable.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Every question carries what the caller may see. A reader gets every event after its cursor or is told `cursor_expired`; it is never
 * handed a later event in place of one that is gone.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SessionEvent } from '@holdfast/protocol'
import type { Sql, Store } from '../../store/store.ts'
import { eventsOfSession, eventsOfTenant, FIRST_PLACE, lastPlace, placeOfEvent } from '../../store/tables/events.ts'
import type { EventPlace } from '../../store/tables/events.ts'
import type { Visibility } from '../caller.ts'
import type { EventListeners } from './event-listeners.ts'
import { viewEvent } from './event-view.ts'
import { follow } from './follow.ts'

const PAGE = 100
const POLL_MS = 1000

/** Where to begin in a tenant's events: `after` names an event by its id. */
export type EventStart = 'oldest' | 'now' | { readonly after: string }

export interface EventReader {
  /** `not_found` when the caller does not see the session; `cursor_expired` with the current `seq` when events after `after` are gone. */
  readSession(visibility: Visibility, sessionId: string, after: number, limit: number): Promise<readonly SessionEvent[]>
  /** The same, then new ones as they come, until the signal is aborted. */
  followSession(visibility: Visibility, sessionId: string, after: number, signal: AbortSignal): AsyncIterable<SessionEvent>
  readTenant(visibility: Visibility, start: EventStart, limit: number): Promise<readonly SessionEvent[]>
  followTenant(visibility: Visibility, start: EventStart, signal: AbortSignal): AsyncIterable<SessionEvent>
}

export interface EventReaderNeeds {
  readonly store: Store
  readonly listeners: EventListeners
  /** How often a follower looks for events of other servers. */
  readonly pollMs?: number
}

export function createEventReader({ store, listeners, pollMs = POLL_MS }: EventReaderNeeds): EventReader {
  const pollEvery = store.dialect === 'sqlite' ? null : pollMs

  const readSession: EventReader['readSession'] = async (visibility, sessionId, after, limit) => {
    const found = await store.read((sql) => eventsOfSession(sql, visibility, sessionId, after, limit))
    if (found === null) throw new HoldfastError('not_found', 'there is no such session')
    const { events, lastSeq } = found
    const expected = Math.min(limit, lastSeq - after)
    const isWhole = events.length === expected && events.every(({ seq }, index) => seq === after + 1 + index)
    if (!isWhole) throw cursorExpired(String(after), { seq: lastSeq })
    return events.map(viewEvent)
  }

  return {
    readSession,

    followSession(visibility, sessionId, after, signal) {
      let last = after
      const next = async () => {
        const events = await readSession(visibility, sessionId, last, PAGE)
        last += events.length
        return { events, isMore: events.length === PAGE }
      }
      return follow({ listeners, topic: sessionId, pollMs: pollEvery, signal, next })
    },

    async readTenant(visibility, start, limit) {
      const events = await store.read(async (sql) => eventsOfTenant(sql, visibility, await placeOf(sql, visibility, start), limit))
      return events.map(viewEvent)
    },

    followTenant(visibility, start, signal) {
      let place: EventPlace | null = null
      const next = async () =>
        await store.read(async (sql) => {
          const after: EventPlace = place ?? (await placeOf(sql, visibility, start))
          const events = await eventsOfTenant(sql, visibility, after, PAGE)
          const isMore = events.length === PAGE
          // Past what this caller does not see, so that it is not searched again and again.
          place = isMore ? (events.at(-1)?.place ?? after) : await lastPlace(sql, visibility.tenantId)
          return { events: events.map(viewEvent), isMore }
        })
      return follow({ listeners, topic: visibility.tenantId, pollMs: pollEvery, signal, next })
    },
  }
}

async function placeOf(sql: Sql, visibility: Visibility, start: EventStart): Promise<EventPlace> {
  if (start === 'oldest') return FIRST_PLACE
  if (start === 'now') return await lastPlace(sql, visibility.tenantId)
  const place = await placeOfEvent(sql, visibility, start.after)
  // An event of somebody else, one that never was and one that is gone look the same.
  if (place === null) throw cursorExpired(start.after, {})
  return place
}

function cursorExpired(cursor: string, details: Readonly<Record<string, unknown>>): HoldfastError {
  return new HoldfastError('cursor_expired', `the events after ${cursor} are no longer kept, or never were`, details)
}
