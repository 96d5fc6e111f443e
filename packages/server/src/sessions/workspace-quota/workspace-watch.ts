/**
 * Watches one workspace while programs can write to it, and stops them when it holds too much.
 *
 * The free space of its file system decides when the workspace is measured: when that fell by half of what the session may still add, and
 * every two seconds in any case, because a neighbour who removes files hides one who adds some. A measurement because of fallen space
 * runs while the sandbox is frozen, so that its size does not grow meanwhile. A large workspace is measured less often, so that no
 * session takes more than a tenth of a processor unless the disk really fills.
 */
import type { FreeSpace, FreeSpaceWatch } from './free-space.ts'
import type { Measuring, MeasuredPlace } from './measuring.ts'
import { exceeds, lowered, stretched } from './usage.ts'
import type { Usage } from './usage.ts'

/** Between two measurements at most. */
const MEASURE_MS = { busy: 2_000, quiet: 30_000 }
/** Between two measurements at least so many times as long as one takes, unless the space falls. */
const REST = 9
/** The same while the space falls and the session was found not to be the cause. */
const REST_BESIDE_WRITER = 3
/** After a measurement that failed. */
const RETRY_MS = 250
/** What cannot be measured so many times in a row must not be written to. */
const MAX_FAILURES = 5
/** So long after work began the space is looked at often, whether it falls or not. */
const YOUNG_MS = 5_000
/** A large workspace is not measured to the end while its sandbox is frozen: its guest has to answer. */
const LONGEST_FREEZE_MS = 1_000
/** Space is looked at often only when less than this may be added: with more, some milliseconds do not matter. */
const NEAR_BYTES = 2 ** 30
/** Descriptors may wait so long for a connection to be accepted. */
const UNSEEN_MS = 200

export interface WorkspaceWatch {
  /** What it held when last measured; `null` before that, or when it cannot be measured. */
  readonly usage: Usage | null
  /** Resolves when it was measured and nothing is being stopped. Rejects when it cannot be measured. */
  ready(): Promise<void>
  /** The same, measured again: files that were removed since do not count. */
  refresh(): Promise<void>
  stop(): void
}

export interface WorkspaceWatchNeeds {
  readonly measuring: Measuring
  readonly freeSpace: FreeSpaceWatch
  /** Milliseconds that only grow. */
  readonly clock: () => number
  readonly places: readonly MeasuredPlace[]
  readonly uid: number | null
  readonly bounds: Usage
  /** It was made a moment ago and nothing has run: it need not be measured before the first command. */
  readonly isNew: boolean
  /** Whether anything may be writing. */
  isBusy(): boolean
  /** Stops all programs that can write until the returned function is called, where that is possible. */
  freeze(): Promise<() => Promise<void>>
  /** Ends everything that writes. Calls `thaw` right before the first is killed: the guest, which kills them, is frozen like them. */
  stopWriters(thaw: () => Promise<void>): Promise<void>
  /** What it holds now that they are stopped. */
  onStopped(usage: Usage): Promise<void>
  onMeasuring(): void
  onMeasured(usage: Usage): void
  onTrouble(error: unknown): void
}

export function watchWorkspace(needs: WorkspaceWatchNeeds): WorkspaceWatch {
  const { measuring, clock, places, uid, bounds } = needs
  const stopped = new AbortController()
  let usage: Usage | null = needs.isNew ? NOTHING : null
  /** What was there before anything ran may stay: whoever is over has to be able to remove it. */
  let ceiling = needs.isNew || needs.isBusy() ? bounds : null
  let free: FreeSpace | null = null
  let last: { readonly at: number; readonly tookMs: number; readonly free: FreeSpace | null; readonly isCause: boolean } = {
    ...{ at: clock(), tookMs: 0, free: null, isCause: true },
  }
  let failures = 0
  let unseenSince: number | null = null
  let busySince: number | null = null
  let isLooking = false
  let stopping: Promise<void> | null = null
  let looking = needs.isNew ? Promise.resolve() : look(false)
  looking.catch(() => undefined)
  const unwatch = needs.freeSpace.watch(
    places.map(({ directory }) => directory),
    onLook,
  )

  async function look(isFrozen: boolean): Promise<void> {
    isLooking = true
    const since = clock()
    const before = free
    let thaw = unfrozen
    try {
      if (isFrozen) thaw = await freezeShortly()
      needs.onMeasuring()
      const { usage: found, isOver, unseen } = await measuring.measure(places, uid, ceiling, stopped.signal)
      const grew = found.bytes - (usage?.bytes ?? 0)
      last = { at: clock(), tookMs: clock() - since, free: before, isCause: grew * 4 >= fallenSince(last.free, before).bytes }
      unseenSince = unseen === 0 ? null : (unseenSince ?? clock())
      if (isOver || isUnseenTooLong()) await (stopping = stopWriters(thaw))
      else note(found, lowered(ceiling ?? stretched(bounds, found), bounds, found))
      failures = 0
    } catch (error) {
      usage = null
      last = { ...last, at: clock() }
      if (stopped.signal.aborted) throw error
      failures += 1
      needs.onTrouble(error)
      if (failures === MAX_FAILURES) await needs.stopWriters(thaw).catch(needs.onTrouble)
      throw error
    } finally {
      await thaw().catch(needs.onTrouble)
      stopping = null
      isLooking = false
    }
  }

  /** It goes on by itself when the measurement takes too long. */
  async function freezeShortly(): Promise<() => Promise<void>> {
    const thaw = await needs.freeze().catch((error: unknown) => {
      needs.onTrouble(error)
      return unfrozen
    })
    let thawing: Promise<void> | null = null
    const once = () => (thawing ??= thaw())
    const timer = setTimeout(() => void once().catch(needs.onTrouble), LONGEST_FREEZE_MS)
    return () => {
      clearTimeout(timer)
      return once()
    }
  }

  function lookAgain(isFrozen = false): Promise<void> {
    isLooking = true
    looking = looking.catch(() => undefined).then(() => look(isFrozen))
    looking.catch(() => undefined)
    return looking
  }

  async function stopWriters(thaw: () => Promise<void>): Promise<void> {
    await needs.stopWriters(thaw)
    unseenSince = null
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

  function isUnseenTooLong(): boolean {
    return unseenSince !== null && clock() - unseenSince >= UNSEEN_MS
  }

  /** Returns whether to look again soon. */
  function onLook(now: FreeSpace): boolean {
    free = now
    busySince = needs.isBusy() ? (busySince ?? clock()) : null
    if (last.free === null) last = { ...last, free: now }
    const isNear = ceiling === null || usage === null || ceiling.bytes - usage.bytes < NEAR_BYTES
    const isYoung = isNear && busySince !== null && clock() - busySince < YOUNG_MS
    if (isLooking || stopped.signal.aborted) return isYoung
    const reason = reasonToMeasure(now)
    if (reason !== null) void lookAgain(reason === 'space-fell')
    return isYoung
  }

  function reasonToMeasure(now: FreeSpace): 'space-fell' | 'time' | null {
    const age = clock() - last.at
    if (usage === null || ceiling === null) return age >= RETRY_MS ? 'time' : null
    if (isUnseenTooLong()) return 'time'
    if (age >= Math.max(MEASURE_MS[busySince === null ? 'quiet' : 'busy'], REST * last.tookMs)) return 'time'
    if (age < last.tookMs * (last.isCause ? 1 : REST_BESIDE_WRITER)) return null
    const half = { bytes: (ceiling.bytes - usage.bytes) / 2, entries: (ceiling.entries - usage.entries) / 2, hidden: 0 }
    return exceeds({ ...fallenSince(last.free, now), hidden: 0 }, half) ? 'space-fell' : null
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
    refresh: () => lookAgain(),
    stop() {
      stopped.abort()
      unwatch()
    },
  }
}

const NOTHING: Usage = { bytes: 0, entries: 0, hidden: 0 }

async function unfrozen(): Promise<void> {}

function fallenSince(before: FreeSpace | null, now: FreeSpace | null): FreeSpace {
  if (before === null || now === null) return { bytes: 0, entries: 0 }
  return { bytes: before.bytes - now.bytes, entries: before.entries - now.entries }
}
