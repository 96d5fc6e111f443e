/**
 * Lines in their order, with what they weigh.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { LineMessage } from './line-framer.ts'

/** Short lines are many: what was taken is dropped in one go. */
const SPENT = 1024

/** A short line costs more than its bytes. */
const LINE_BYTES = 256

export class LineQueue {
  #lines: LineMessage[] = []
  #head = 0
  #bytes = 0

  static of(first: LineQueue, second: LineQueue): LineQueue {
    const joined = new LineQueue()
    for (const queue of [first, second]) for (const line of queue.#lines.slice(queue.#head)) joined.push(line)
    return joined
  }

  /** With what each line costs beyond its bytes. */
  get bytes(): number {
    return this.#bytes
  }

  push(line: LineMessage): void {
    this.#lines.push(line)
    this.#bytes += line.bytes.length + LINE_BYTES
  }

  shift(): LineMessage | undefined {
    const line = this.#lines[this.#head]
    if (line === undefined) return undefined
    this.#head += 1
    this.#bytes -= line.bytes.length + LINE_BYTES
    if (this.#head === this.#lines.length || this.#head >= SPENT) {
      this.#lines = this.#lines.slice(this.#head)
      this.#head = 0
    }
    return line
  }
}
