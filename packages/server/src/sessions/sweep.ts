/**
 * Deadlines: what is due on this server, found through an index and decided anew under the row's lock.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The database is the only memory of a deadline. The timer here only makes it prompt: it wakes at the next one, and every few seconds
 * whatever it believes. Sessions are taken a few at a time, so that a thousand that are due never stand in the way of a command.
 */
import type { Store } from '../store/store.ts'
import { dueSessions, earliestDeadline } from '../store/tables/sessions.ts'
import type { SessionRef } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'

const EVERY_MS = 5_000
const PAGE = 50
const AT_ONCE = 4

export interface Sweep {
  /** A session has a deadline at this time. */
  expect(at: number): void
  /** Handles everything that is due now. */
  run(): Promise<void>
  stop(): Promise<void>
}

export interface SweepNeeds {
  readonly store: Store
  readonly serverId: string
  readonly clock: () => number
  readonly log: Log
  /** Before each round: what is kept in memory goes into the store that the round reads. */
  prepare(): Promise<void>
  /** One session whose deadline seems to have passed. `true`: it was moved on, and may be due again at once. */
  handle(ref: SessionRef): Promise<boolean>
  /** Repairs that no deadline brings about. */
  tidy(): Promise<void>
}

export function createSweep({ store, serverId, clock, log, prepare, handle, tidy }: SweepNeeds): Sweep {
  let timer: NodeJS.Timeout | null = null
  let wakesAt = Number.POSITIVE_INFINITY
  const stopped = new AbortController()
  let round: Promise<void> | null = null

  function wake(at: number): void {
    if (stopped.signal.aborted) return
    if (timer !== null) clearTimeout(timer)
    wakesAt = at
    timer = setTimeout(() => void run().catch(fail), Math.max(0, Math.min(at - clock(), EVERY_MS)))
    timer.unref()
  }

  async function sweep(): Promise<void> {
    await prepare()
    // One that cannot be moved on must not keep the others waiting, nor this loop busy.
    const seen = new Set<string>()
    while (!stopped.signal.aborted) {
      const due = await store.read((sql) => dueSessions(sql, serverId, clock(), PAGE + seen.size))
      const fresh = due.filter(({ id }) => !seen.has(id))
      if (fresh.length === 0) break
      for (const { id } of fresh) seen.add(id)
      const rest = [...fresh]
      const worker = async () => {
        for (let ref = rest.shift(); ref !== undefined && !stopped.signal.aborted; ref = rest.shift()) {
          if (await handleOne(ref)) seen.delete(ref.id)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
    }
    await tidy()
  }

  async function handleOne(ref: SessionRef): Promise<boolean> {
    // A turn for everybody else.
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
    try {
      return await handle(ref)
    } catch (error) {
      log.error('session-not-swept', { session: ref.id, error: errorText(error) })
      return false
    }
  }

  async function sweepAndWait(): Promise<void> {
    try {
      await sweep()
    } finally {
      round = null
      const next = await store.read((sql) => earliestDeadline(sql, serverId)).catch(() => null)
      // What is overdue already could not be handled: not at once again.
      wake(next === null || next <= clock() ? clock() + EVERY_MS : next)
    }
  }

  function run(): Promise<void> {
    round ??= sweepAndWait()
    return round
  }

  function fail(error: unknown): void {
    log.error('sweep-failed', { error: errorText(error) })
  }

  wake(clock() + EVERY_MS)
  return {
    expect(at) {
      if (at < wakesAt) wake(at)
    },
    run,
    async stop() {
      stopped.abort()
      if (timer !== null) clearTimeout(timer)
      await round?.catch(fail)
    },
  }
}
