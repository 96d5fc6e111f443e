/**
 * How fast a server is listened to: as fast as it answers, and slower when it talks unasked, so that no box keeps all others waiting.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * Who waits here does not read, and the server in its box waits with it, as behind a full pipe.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'

const WINDOW_MS = 100
/** In one window. A thousand quick notifications are not slowed down. */
const MAXIMUM_MESSAGES = 2_000
const MAXIMUM_CHARACTERS = 1024 * 1024
/** Others have their turn after so long, whatever is said. */
const TURN_MS = 10

export interface Pace {
  /** Something was said that nobody asked for. */
  unasked(characters: number): void
  /** A promise: before it resolves nothing more is to be read. */
  rest(): Promise<void> | null
}

export function createPace(clock: () => number): Pace {
  let windowAt = clock()
  let turnAt = windowAt
  let messages = 0
  let characters = 0

  function beginWindow(now: number): void {
    windowAt = now
    messages = 0
    characters = 0
  }

  async function waitForWindow(ms: number): Promise<void> {
    await setTimeout(ms)
    turnAt = clock()
    beginWindow(turnAt)
  }

  async function letOthers(): Promise<void> {
    await setImmediate()
    turnAt = clock()
  }

  return {
    unasked(count) {
      messages += 1
      characters += count
    },
    rest() {
      const now = clock()
      if (now - windowAt >= WINDOW_MS) beginWindow(now)
      if (messages > MAXIMUM_MESSAGES || characters > MAXIMUM_CHARACTERS) return waitForWindow(WINDOW_MS - (now - windowAt))
      return now - turnAt >= TURN_MS ? letOthers() : null
    },
  }
}
