/**
 * A stream whose next piece is fetched when its reader wants it, and whose source is left at once when the reader leaves.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { Readable } from 'node:stream'

export interface PulledSource {
  /** The next piece; `null` at a good end. What it rejects with is what the reader hears. */
  next(): Promise<Uint8Array | null>
  /** Called once, however the stream ends. */
  leave(): void
}

export function pulledStream({ next, leave }: PulledSource): Readable {
  const stream = new Readable({
    highWaterMark: 1,
    read() {
      next().then(
        (bytes) => stream.push(bytes),
        (error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))),
      )
    },
    destroy(error, done) {
      leave()
      done(error)
    },
  })
  // It may fail before anybody reads it; it stays failed for whoever does.
  stream.on('error', () => undefined)
  return stream
}
