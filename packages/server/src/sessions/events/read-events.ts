/**
 * Events read back: of one session by its sequence, or of a tenant in the order in which they became readable.
 *
 * Every query carries what the caller may see. A reader gets every event after its cursor or `cursor_expired`; it never gets a later event in
 * place of one that is gone. Followers of the same tenant or session share one feed; they read for themselves at the beginning and when they
 * lag.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SessionEvent } from '@holdfast/protocol'
import type { Sql, Store } from '../../store/store.ts'
import {
  eventsOfSession,
  eventsOfTenant,
  FIRST_PLACE,
  isLaterPlace,
  lastPlace,
  ownedEventsOfTenant,
  placeOfEvent,
} from '../../store/tables/events.ts'
import type { EventOwner, EventPlace } from '../../store/tables/events.ts'
import type { Visibility } from '../caller.ts'
import { createEventFeed } from './event-feed.ts'
import type { EventFeed, EventFeedNeeds, FeedEntry } from './event-feed.ts'
import type { EventListeners } from './event-listeners.ts'
import { viewEvent } from './event-view.ts'
import { createPacedWakeUps } from './paced-wake-ups.ts'

const PAGE = 100
const POLL_MS = 1000

/** Where to begin in a tenant's events: `after` names an event by its id. */
export type EventStart = 'oldest' | 'now' | { readonly after: string }

/** Events one by one, or as many at once as there are. Followers get the same objects. */
export interface FollowedEvents extends AsyncIterable<SessionEvent> {
  pages(): AsyncIterable<readonly SessionEvent[]>
}

export interface EventReader {
  /** `not_found` when the caller does not see the session; `cursor_expired` with the current `seq` when events after `after` are gone. */
  readSession(visibility: Visibility, sessionId: string, after: number, limit: number): Promise<readonly SessionEvent[]>
  /** The same, then new ones as they come, until the signal is aborted. */
  followSession(visibility: Visibility, sessionId: string, after: number, signal: AbortSignal): FollowedEvents
  readTenant(visibility: Visibility, start: EventStart, limit: number): Promise<readonly SessionEvent[]>
  followTenant(visibility: Visibility, start: EventStart, signal: AbortSignal): FollowedEvents
}

export interface EventReaderNeeds {
  readonly store: Store
  readonly listeners: EventListeners
  /** How often a follower looks for events of other servers. */
  readonly pollMs?: number
}

export function createEventReader({ store, listeners, pollMs = POLL_MS }: EventReaderNeeds): EventReader {
  const pollEvery = store.dialect === 'sqlite' ? null : pollMs
  const wakeUps = createPacedWakeUps()
  const shared = { listeners, pollMs: pollEvery, wakeUps }
  const sessionFeeds = new Map<string, EventFeed<number>>()
  const tenantFeeds = new Map<string, EventFeed<EventPlace>>()

  const readSession: EventReader['readSession'] = async (visibility, sessionId, after, limit) =>
    (await sessionPage(visibility, sessionId, after, limit)).events.map(viewEvent)

  async function sessionPage(visibility: Visibility, sessionId: string, after: number, limit: number) {
    const found = await store.read((sql) => eventsOfSession(sql, visibility, sessionId, after, limit))
    if (found === null) throw new HoldfastError('not_found', 'there is no such session')
    const { events, lastSeq } = found
    const expected = Math.min(limit, lastSeq - after)
    const isWhole = events.length === expected && events.every(({ seq }, index) => seq === after + 1 + index)
    if (!isWhole) throw cursorExpired(String(after), { seq: lastSeq })
    return found
  }

  function sessionFeed(tenantId: string, sessionId: string): EventFeed<number> {
    const everything = { tenantId, owner: null, groups: [] }
    return feedOf(sessionFeeds, `${tenantId} ${sessionId}`, {
      ...{ ...shared, topic: sessionId, isAfter: (seq, other) => seq > other },
      async latest() {
        const found = await store.read((sql) => eventsOfSession(sql, everything, sessionId, 0, 0))
        return found?.lastSeq ?? 0
      },
      async read(after) {
        const { events, owner, ownerGroup } = await sessionPage(everything, sessionId, after, PAGE)
        const entries = events.map((row) => ({ cursor: row.seq, event: viewEvent(row), owner, ownerGroup }))
        return { entries, end: after + entries.length, isMore: entries.length === PAGE }
      },
    })
  }

  function tenantFeed(tenantId: string): EventFeed<EventPlace> {
    return feedOf(tenantFeeds, tenantId, {
      ...{ ...shared, topic: tenantId, isAfter: isLaterPlace },
      latest: () => store.read((sql) => lastPlace(sql, tenantId)),
      async read(after) {
        const rows = await store.read((sql) => ownedEventsOfTenant(sql, tenantId, after, PAGE))
        const entries = rows.map((row) => ({ cursor: row.place, event: viewEvent(row), owner: row.owner, ownerGroup: row.ownerGroup }))
        return { entries, end: rows.at(-1)?.place ?? after, isMore: rows.length === PAGE }
      },
    })
  }

  return {
    readSession,

    followSession(visibility, sessionId, after, signal) {
      const read = async (seq: number | null) => {
        const from = seq ?? after
        const events = await readSession(visibility, sessionId, from, PAGE)
        return { events, end: from + events.length, isMore: events.length === PAGE }
      }
      // A caller who no longer sees the session learns so from its own read.
      return followed({ feed: () => sessionFeed(visibility.tenantId, sessionId), visibility, signal, read, whenHidden: 'read' })
    },

    async readTenant(visibility, start, limit) {
      const events = await store.read(async (sql) => eventsOfTenant(sql, visibility, await placeOf(sql, visibility, start), limit))
      return events.map(viewEvent)
    },

    followTenant(visibility, start, signal) {
      const read = (place: EventPlace | null) =>
        store.read(async (sql) => {
          const after = place ?? (await placeOf(sql, visibility, start))
          const rows = await eventsOfTenant(sql, visibility, after, PAGE)
          const isMore = rows.length === PAGE
          // Beyond what this caller does not see, so that it is not searched again and again.
          const end = isMore ? (rows.at(-1)?.place ?? after) : await lastPlace(sql, visibility.tenantId)
          return { events: rows.map(viewEvent), end, isMore }
        })
      return followed({ feed: () => tenantFeed(visibility.tenantId), visibility, signal, read, whenHidden: 'skip' })
    },
  }
}

function feedOf<C>(feeds: Map<string, EventFeed<C>>, key: string, needs: Omit<EventFeedNeeds<C>, 'onEmpty'>): EventFeed<C> {
  const known = feeds.get(key)
  if (known !== undefined) return known
  const feed = createEventFeed({ ...needs, onEmpty: () => feeds.delete(key) })
  feeds.set(key, feed)
  return feed
}

interface FollowerNeeds<C> {
  readonly feed: () => EventFeed<C>
  readonly visibility: Visibility
  readonly signal: AbortSignal
  /** The follower's own read after a cursor; `null`: from its beginning. */
  read(after: C | null): Promise<{ readonly events: readonly SessionEvent[]; readonly end: C; readonly isMore: boolean }>
  /** What to do with entries of the feed that the caller may not see: leave them out, or read for itself. */
  readonly whenHidden: 'skip' | 'read'
}

function followed<C>(needs: FollowerNeeds<C>): FollowedEvents {
  return {
    pages: () => followPages(needs),
    async *[Symbol.asyncIterator]() {
      for await (const page of followPages(needs))
        for (const event of page) {
          if (needs.signal.aborted) return
          yield event
        }
    },
  }
}

async function* followPages<C>({ feed: join, visibility, signal, read, whenHidden }: FollowerNeeds<C>) {
  const feed = join()
  const leave = feed.join()
  let cursor: C | null = null
  try {
    while (!signal.aborted) {
      const entries: readonly FeedEntry<C>[] | null = cursor === null ? null : feed.after(cursor)
      const visible = entries?.filter((entry) => isVisible(visibility, entry)) ?? []
      if (entries === null || (whenHidden === 'read' && visible.length < entries.length)) {
        // Begun before the read, so that the read reaches what the feed keeps.
        await feed.begin()
        const page = await read(cursor)
        cursor = page.end
        if (page.events.length > 0 && !signal.aborted) yield page.events
        continue
      }
      cursor = entries.at(-1)?.cursor ?? cursor
      if (visible.length > 0) yield visible.map(({ event }) => event)
      else if (entries.length === 0) await feed.changed(signal)
    }
  } finally {
    leave()
  }
}

function isVisible({ owner, groups }: Visibility, of: EventOwner): boolean {
  return owner === null || of.owner === owner || (of.ownerGroup !== null && groups.includes(of.ownerGroup))
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
