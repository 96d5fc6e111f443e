/**
 * From records to what a reader asked for: the part after a number, up to a limit, with the lost bytes counted.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { StoredChunk } from './output-record.ts'

/** A piece of what was printed. The gap before a chunk is `chunk.seq - chunk.bytes.length` minus the number before it. */
export interface OutputPage {
  readonly chunks: readonly StoredChunk[]
  /** Bytes between `after` and `seq` that are in no chunk, because they are not kept any more. */
  readonly skippedBytes: number
  /** What to give as `after` to go on. */
  readonly seq: number
}

export class PageBuilder {
  readonly #after: number
  readonly #limitBytes: number
  readonly #chunks: StoredChunk[] = []
  #keptBytes = 0
  #seq: number

  constructor(after: number, limitBytes = Number.POSITIVE_INFINITY) {
    this.#after = after
    this.#limitBytes = limitBytes
    this.#seq = after
  }

  get seq(): number {
    return this.#seq
  }

  get isFull(): boolean {
    return this.#keptBytes >= this.#limitBytes
  }

  add(chunks: readonly StoredChunk[]): void {
    for (const chunk of chunks) {
      if (this.isFull) return
      if (chunk.seq > this.#seq) this.#take(chunk)
    }
  }

  /** `endSeq`: up to where everything that is kept was added; what lies before it and was not is lost. */
  finish(endSeq: number): OutputPage {
    const seq = this.isFull ? this.#seq : Math.max(this.#seq, endSeq)
    return { chunks: this.#chunks, skippedBytes: seq - this.#after - this.#keptBytes, seq }
  }

  #take({ channel, bytes, seq, at }: StoredChunk): void {
    const start = Math.max(seq - bytes.length, this.#seq)
    const end = Math.min(seq, start + this.#limitBytes - this.#keptBytes)
    const from = start - (seq - bytes.length)
    this.#chunks.push({ channel, bytes: bytes.subarray(from, from + end - start), seq: end, at })
    this.#keptBytes += end - start
    this.#seq = end
  }
}
