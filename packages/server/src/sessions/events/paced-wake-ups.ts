/**
 * Wakes many followers in small groups, with pauses between them, so that a thousand followers of one event do not keep commands waiting.
 *
 * Few followers are woken at once and without a pause.
 */
import { setImmediate, setTimeout as delay } from 'node:timers/promises'

const GROUP = 32
/** Of the time that a group took. */
const PAUSE_FACTOR = 2
const MAX_PAUSE_MS = 10

export interface PacedWakeUps {
  /** Resolves when all have been called and the pause after them is over. */
  run(calls: readonly (() => void)[]): Promise<void>
}

export function createPacedWakeUps(): PacedWakeUps {
  /** Groups of several feeds take turns. */
  let last: Promise<void> = Promise.resolve()

  async function callGroup(calls: readonly (() => void)[]): Promise<void> {
    const since = performance.now()
    for (const call of calls) call()
    // What they write is written when the event loop turns.
    await setImmediate()
    await delay(Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * (performance.now() - since)))
  }

  return {
    async run(calls) {
      if (calls.length <= GROUP) return calls.forEach((call) => call())
      for (let start = 0; start < calls.length; start += GROUP) {
        const group = calls.slice(start, start + GROUP)
        last = last.then(() => callGroup(group))
        await last
      }
    },
  }
}
