/**
 * Output as an async iterator: one chunk per `next`, taken from the reader only when asked for.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import type { ExecutionStream } from './execution-stream.ts'
import type { OutputChunk } from './inside.ts'
import type { OutputChannel } from './output-queue.ts'
import type { OutputConsumer } from './output-reader.ts'

interface Waiter {
  readonly resolve: (result: IteratorResult<OutputChunk, undefined>) => void
  readonly reject: (error: unknown) => void
}

export function channelName(channel: OutputChannel): OutputChunk['channel'] {
  return channel === 1 ? 'stdout' : 'stderr'
}

export class OutputIterator implements AsyncIterator<OutputChunk, undefined>, OutputConsumer {
  readonly keepsBytes = true
  readonly #stream: ExecutionStream
  #waiters: Waiter[] = []
  #isOver = false
  #hasLeft = false

  constructor(stream: ExecutionStream) {
    this.#stream = stream
    stream.output.pause()
    stream.output.consume(this)
  }

  next(): Promise<IteratorResult<OutputChunk, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      if (this.#isOver) this.#dismiss()
      else this.#stream.output.resume()
    })
  }

  /** The loop was left: so is the execution. */
  return(): Promise<IteratorResult<OutputChunk, undefined>> {
    this.#hasLeft = true
    this.#stream.detach()
    return Promise.resolve({ done: true, value: undefined })
  }

  chunk(channel: OutputChannel, bytes: Buffer, seq: number): boolean {
    this.#waiters.shift()?.resolve({ done: false, value: { channel: channelName(channel), bytes, seq } })
    return this.#waiters.length > 0
  }

  finished(): void {
    this.#isOver = true
    this.#dismiss()
  }

  #dismiss(): void {
    const waiters = this.#waiters
    this.#waiters = []
    const { error } = this.#stream
    for (const { resolve, reject } of waiters) {
      if (error && !this.#hasLeft) reject(error)
      else resolve({ done: true, value: undefined })
    }
  }
}
