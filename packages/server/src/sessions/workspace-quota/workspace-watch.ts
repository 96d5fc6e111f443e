/**
 * Keeps an eye on one workspace while programs can write to it, and stops them when it holds too much.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Four times a second, while something runs, the file system is asked how much it has left. When that fell by half of what the session may
 * still add, the workspace is measured; and every two seconds in any case, because a neighbour who removes files hides one who adds some.
 * A large workspace is measured less often, so that no session takes more than a tenth of a processor unless the disk really fills.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Measuring, MeasuredPlace } from './measuring.ts'
import { exceeds, lowered, stretched } from './usage.ts'
import type { Usage } from './usage.ts'

/** How often the file system is asked. */
const BUSY = { askMs: 250, measureMs: 2_000 }
/** Nothing runs that the server knows of; a program may have been left in the background. */
const QUIET = { askMs: 1_000, measureMs: 30_000 }
/** Between two measurements at least so many times as long as one takes. */
const REST = 9
/** What cannot be measured so many times in a row must not be written to. */
const MAX_FAILURES = 5

export interface WorkspaceWatch {
  /** What it held when last measured; `null` before that, or when it cannot be measured. */
  readonly usage: Usage | null
  /** Resolves when it was measured and nothing is being stopped. Rejects when it cannot be measured. */
  ready(): Promise<void>
  /** The same, measured anew: what was removed since is not held against anybody. */
  refresh(): Promise<void>
  /** Something has begun: ask soon. */
  wake(): void
  stop(): void
}

export interface WorkspaceWatchNeeds {
  readonly measuring: Measuring
  readonly clock: () => number
  readonly places: readonly MeasuredPlace[]
  readonly uid: number | null
  readonly bounds: Usage
  /** Whether anything may be writing. */
  isBusy(): boolean
  /** Ends everything that writes. */
  stopWriters(): Promise<void>
  /** What it holds now that they are stopped. */
  onStopped(usage: Usage): Promise<void>
  onMeasuring(): void
  onMeasured(usage: Usage): void
  onTrouble(error: unknown): void
}

export function watchWorkspace(needs: WorkspaceWatchNeeds): WorkspaceWatch {
  const { measuring, clock, places, uid, bounds } = needs
  const stopped = new AbortController()
  let awake = new AbortController()
  let usage: Usage | null = null
  /** What was there before anything ran may stay: whoever is over has to be able to remove it. */
  let ceiling = needs.isBusy() ? bounds : null
  let last = { at: 0, tookMs: 0, space: { bytes: 0, entries: 0 } }
  let failures = 0
  let stopping: Promise<void> | null = null
  let looking = look()
  void watch()

  async function look(): Promise<void> {
    try {
      const space = await measuring.space(places)
      const since = clock()
      needs.onMeasuring()
      const { usage: found, isOver } = await measuring.measure(places, uid, ceiling, stopped.signal)
      last = { at: clock(), tookMs: clock() - since, space }
      if (isOver) await (stopping = stopWriters())
      else note(found, lowered(ceiling ?? stretched(bounds, found), bounds, found))
      failures = 0
    } catch (error) {
      usage = null
      if (stopped.signal.aborted) throw error
      failures += 1
      needs.onTrouble(error)
      if (failures === MAX_FAILURES) await needs.stopWriters().catch(needs.onTrouble)
      throw error
    } finally {
      stopping = null
    }
  }

  function lookAgain(): Promise<void> {
    looking = looking.catch(() => undefined).then(look)
    return looking
  }

  async function stopWriters(): Promise<void> {
    await needs.stopWriters()
    needs.onMeasuring()
    const { usage: found } = await measuring.measure(places, uid, null, stopped.signal)
    note(found, stretched(bounds, found))
    await needs.onStopped(found)
  }

  function note(found: Usage, most: Usage): void {
    usage = found
    ceiling = most
    needs.onMeasured(found)
  }

  async function isDue(): Promise<boolean> {
    const { measureMs } = needs.isBusy() ? BUSY : QUIET
    const age = clock() - last.at
    if (usage === null || ceiling === null || age >= Math.max(measureMs, REST * last.tookMs)) return true
    if (age < last.tookMs) return false
    const now = await measuring.space(places)
    const fell = { bytes: last.space.bytes - now.bytes, entries: last.space.entries - now.entries, hidden: 0 }
    const half = { bytes: (ceiling.bytes - usage.bytes) / 2, entries: (ceiling.entries - usage.entries) / 2, hidden: 0 }
    return exceeds(fell, half)
  }

  async function watch(): Promise<void> {
    await looking.catch(() => undefined)
    while (!stopped.signal.aborted) {
      const signal = AbortSignal.any([stopped.signal, awake.signal])
      await wait((needs.isBusy() ? BUSY : QUIET).askMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (awake.signal.aborted) awake = new AbortController()
      if (stopped.signal.aborted || !(await isDue().catch(() => true))) continue
      await lookAgain().catch(() => undefined)
    }
  }

  return {
    get usage() {
      return usage
    },
    async ready() {
      await stopping?.catch(() => undefined)
      if (usage === null) await looking.catch(() => undefined)
      // What could not be measured a moment ago may be so now.
      if (usage === null) await lookAgain()
    },
    refresh: lookAgain,
    wake: () => awake.abort(),
    stop: () => stopped.abort(),
  }
}
