/**
 * The first part of a stream as text, in bounded memory.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * What comes after the limit is counted and dropped. Invalid UTF-8 becomes U+FFFD; a character that the limit cuts in two
 * is left out, not replaced.
 */
import { StringDecoder } from 'node:string_decoder'

const EMPTY = Buffer.alloc(0)

export class OutputCapture {
  readonly #limitBytes: number
  #buffer = EMPTY
  #keptBytes = 0
  #droppedBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  get isTruncated(): boolean {
    return this.#droppedBytes > 0
  }

  /** Copies, so that a small chunk does not keep a whole network buffer alive. */
  add(bytes: Buffer): void {
    const taken = Math.min(bytes.length, this.#limitBytes - this.#keptBytes)
    this.#droppedBytes += bytes.length - taken
    if (taken === 0) return
    const needed = this.#keptBytes + taken
    if (needed > this.#buffer.length) this.#grow(needed)
    bytes.copy(this.#buffer, this.#keptBytes, 0, taken)
    this.#keptBytes = needed
  }

  text(): string {
    const kept = this.#buffer.subarray(0, this.#keptBytes)
    return this.isTruncated ? new StringDecoder('utf8').write(kept) : kept.toString('utf8')
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafe(Math.min(this.#limitBytes, Math.max(needed, this.#buffer.length * 2)))
    this.#buffer.copy(larger, 0, 0, this.#keptBytes)
    this.#buffer = larger
  }
}
