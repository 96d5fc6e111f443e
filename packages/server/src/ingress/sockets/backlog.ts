/**
 * Reads from a socket only as fast as what comes from it gets done, so that what waits is bounded.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { WebSocket } from 'ws'

/** Above this nothing more is read until half of it is done. */
const MAX_WAITING_BYTES = 262_144
/** A message costs memory beyond its bytes. */
const MESSAGE_BYTES = 512

export interface Backlog {
  /** Does it after everything that was given to this line before. `work` must not reject. */
  add(bytes: number, work: () => Promise<void>): void
  /** Everything that was added is done. */
  readonly done: Promise<void>
}

/** Two lines of one socket, e.g. for input and for orders that must not wait behind it. */
export function backlogs(socket: WebSocket): readonly [Backlog, Backlog] {
  let waitingBytes = 0
  const line = (): Backlog => {
    let done = Promise.resolve()
    return {
      get done() {
        return done
      },
      add(bytes, work) {
        const size = bytes + MESSAGE_BYTES
        waitingBytes += size
        if (waitingBytes > MAX_WAITING_BYTES) socket.pause()
        done = done.then(work).then(() => {
          waitingBytes -= size
          if (socket.isPaused && waitingBytes <= MAX_WAITING_BYTES / 2) socket.resume()
        })
      },
    }
  }
  return [line(), line()]
}
