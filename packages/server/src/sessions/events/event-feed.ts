/**
 * The new events of one tenant or one session, read once from the store for everybody who follows them.
 *
 * The feed keeps the latest entries for a few seconds. A follower has only a cursor and takes what comes after it. A follower whose cursor lies
 * before the kept entries reads from the store itself until it has caught up, so a slow follower costs no memory and misses nothing.
 */
import type { SessionEvent } from '@holdfast/protocol'
import type { EventListeners } from './event-listeners.ts'
import { follow } from './follow.ts'
import type { PacedWakeUps } from './paced-wake-ups.ts'

const MAX_ENTRIES = 512
/** An entry carries the session's owner at the time it was read; a transfer counts for every follower within this time. */
const MAX_AGE_MS = 5_000

export interface FeedEntry<C> {
  readonly cursor: C
  readonly event: SessionEvent
  /** The session's owner and group; `null` when its record is gone. */
  readonly owner: string | null
  readonly ownerGroup: string | null
}

export interface FeedPage<C> {
  readonly entries: readonly FeedEntry<C>[]
  /** Where the next page begins. */
  readonly end: C
  readonly isMore: boolean
}

export interface EventFeed<C> {
  /** Keeps the feed running until the returned function is called. */
  join(): () => void
  /** Resolves once entries are kept; throws what the store throws. */
  begin(): Promise<void>
  /** The kept entries after a cursor; `null` when some of them are not kept, so that the follower must read for itself. */
  after(cursor: C): readonly FeedEntry<C>[] | null
  /** Resolves when there are new entries, the feed has failed or the signal is aborted. */
  changed(signal: AbortSignal): Promise<void>
}

export interface EventFeedNeeds<C> {
  readonly listeners: EventListeners
  readonly topic: string
  /** `null`: only this process writes events. */
  readonly pollMs: number | null
  readonly wakeUps: PacedWakeUps
  /** The last cursor that can be read now. */
  latest(): Promise<C>
  read(after: C): Promise<FeedPage<C>>
  isAfter(cursor: C, other: C): boolean
  /** The last follower has left. */
  onEmpty(): void
}

export function createEventFeed<C>(needs: EventFeedNeeds<C>): EventFeed<C> {
  const { listeners, topic, pollMs, wakeUps, isAfter } = needs
  let entries: (FeedEntry<C> & { readonly readAt: number })[] = []
  /** Everything after it is in `entries` or still to be read; `null` while the feed does not run. */
  let floor: C | null = null
  let followers = 0
  let beginning: Promise<void> | null = null
  let ended = new AbortController()
  let waiting = new Set<() => void>()

  async function run(from: C, signal: AbortSignal): Promise<void> {
    let end = from
    const next = async () => {
      const page = await needs.read(end)
      end = page.end
      return { events: page.entries, isMore: page.isMore }
    }
    for await (const page of follow({ listeners, topic, pollMs, signal, next })) {
      const readAt = performance.now()
      for (const entry of page) entries.push({ ...entry, readAt })
      dropOld(MAX_ENTRIES)
      await wakeAll()
    }
  }

  async function begin(): Promise<void> {
    const { signal } = ended
    const from = await needs.latest()
    if (signal.aborted) return
    floor = from
    void run(from, signal)
      // Followers read for themselves then, and meet the same error or begin the feed again.
      .catch(() => undefined)
      .finally(() => {
        if (ended.signal !== signal) return
        stop()
        void wakeAll()
      })
  }

  function stop(): void {
    ended.abort()
    ended = new AbortController()
    entries = []
    floor = null
    beginning = null
  }

  function dropOld(most: number): void {
    const oldest = performance.now() - MAX_AGE_MS
    let count = Math.max(0, entries.length - most)
    while ((entries[count]?.readAt ?? Infinity) < oldest) count += 1
    const last = entries[count - 1]
    if (last === undefined) return
    floor = last.cursor
    entries = entries.slice(count)
  }

  function wakeAll(): Promise<void> {
    const woken = waiting
    waiting = new Set()
    return wakeUps.run([...woken])
  }

  return {
    join() {
      followers += 1
      let hasLeft = false
      return () => {
        if (hasLeft) return
        hasLeft = true
        followers -= 1
        if (followers > 0) return
        stop()
        needs.onEmpty()
      }
    },

    begin() {
      beginning ??= begin().catch((error: unknown) => {
        beginning = null
        throw error
      })
      return beginning
    },

    after(cursor) {
      dropOld(MAX_ENTRIES)
      if (floor === null || isAfter(floor, cursor)) return null
      let [low, high] = [0, entries.length]
      while (low < high) {
        const middle = (low + high) >>> 1
        const entry = entries[middle]
        if (entry !== undefined && isAfter(entry.cursor, cursor)) high = middle
        else low = middle + 1
      }
      return low === entries.length ? [] : entries.slice(low)
    },

    changed(signal) {
      return new Promise<void>((resolve) => {
        if (signal.aborted) return resolve()
        const done = () => {
          waiting.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        waiting.add(done)
        signal.addEventListener('abort', done)
      })
    },
  }
}
