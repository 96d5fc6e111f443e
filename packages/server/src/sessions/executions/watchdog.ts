/**
 * The last word on a time-out: when the guest does not keep it, its sandbox is destroyed from out here.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import type { MomentaryReader } from './momentary-reader.ts'

/** How much longer than its time-out an execution may stay without an answer from the guest. */
export const WATCHDOG_GRACE_MS = 10_000

export interface Watchdog {
  /** Why the sandbox was destroyed; `null` as long as it was not. */
  readonly barked: HoldfastError | null
  stop(): void
}

/** A reader that holds the program up gets the blame first: the guest has another while to end the program without it. */
export function startWatchdog(live: LiveSandbox, reader: MomentaryReader | null, afterMs: number): Watchdog {
  let timer = setTimeout(bark, afterMs)
  let barked: HoldfastError | null = null

  function bark(): void {
    if (reader?.leaveBehind()) {
      timer = setTimeout(bark, Math.min(afterMs, WATCHDOG_GRACE_MS))
      return
    }
    barked = new HoldfastError('guest_unreachable', `the guest did not end the program within ${afterMs} ms; its sandbox was destroyed`)
    // Decision: what could not be destroyed now is found by its name later.
    live.destroy().catch(() => undefined)
  }

  return {
    get barked() {
      return barked
    },
    stop: () => clearTimeout(timer),
  }
}
