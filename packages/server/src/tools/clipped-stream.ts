/**
 * What a model sees of a stream of any length: its beginning and its end, with a notice between them.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * Holds always: at most `limit` characters (code points) come out, the notice included, none of them half; and what is kept meanwhile
 * is bounded by that limit and not by the stream. The rest is read, counted and dropped.
 */
const HEAD_SHARE = 0.6
/** The longest of UTF-8. */
const CHARACTER_BYTES = 4

export interface Clipped {
  readonly text: string
  readonly isTruncated: boolean
}

export class ClippedStream {
  readonly #limit: number
  readonly #keptBytes: number
  readonly #head: GrowingBytes
  readonly #tail: GrowingBytes
  #totalBytes = 0

  constructor(limit: number) {
    this.#limit = limit
    this.#keptBytes = limit * CHARACTER_BYTES
    this.#head = new GrowingBytes(this.#keptBytes)
    // Twice as much, so that its beginning is let go of rarely.
    this.#tail = new GrowingBytes(this.#keptBytes * 2)
  }

  /** Copies what it keeps. */
  add(bytes: Buffer): void {
    this.#totalBytes += bytes.length
    const forHead = this.#keptBytes - this.#head.bytes.length
    if (forHead > 0) this.#head.append(bytes.subarray(0, forHead))
    const rest = bytes.subarray(forHead).subarray(-this.#keptBytes)
    if (rest.length === 0) return
    if (this.#tail.bytes.length + rest.length > this.#keptBytes * 2) this.#tail.keepLast(this.#keptBytes - rest.length)
    this.#tail.append(rest)
  }

  result(): Clipped {
    const [head, tail] = [this.#head.bytes, this.#tail.bytes]
    if (this.#totalBytes === head.length + tail.length) {
      const text = Buffer.concat([head, tail]).toString('utf8')
      const characters = Array.from(text)
      return characters.length <= this.#limit ? { text, isTruncated: false } : this.#clip(characters, characters)
    }
    // A character that is cut at the edge of either is far from what is taken of it.
    return this.#clip(Array.from(head.toString('utf8')), Array.from(tail.toString('utf8', tail.length - this.#keptBytes)))
  }

  /** Both hold more characters than are taken of them. */
  #clip(first: readonly string[], last: readonly string[]): Clipped {
    const notice = `\n[... cut here: the whole has ${this.#totalBytes} bytes ...]\n`
    const room = Math.max(0, this.#limit - notice.length)
    const headCount = Math.floor(room * HEAD_SHARE)
    const tail = headCount === room ? '' : last.slice(headCount - room).join('')
    return { text: `${first.slice(0, headCount).join('')}${notice}${tail}`, isTruncated: true }
  }
}

/** Room that is taken as it is needed, up to a capacity. */
class GrowingBytes {
  readonly #capacity: number
  #room: Buffer = Buffer.alloc(0)
  #length = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length)
  }

  append(bytes: Buffer): void {
    const needed = this.#length + bytes.length
    if (needed > this.#room.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#capacity, Math.max(needed, this.#room.length * 2)))
      this.bytes.copy(larger)
      this.#room = larger
    }
    bytes.copy(this.#room, this.#length)
    this.#length = needed
  }

  keepLast(count: number): void {
    this.#room.copyWithin(0, this.#length - count, this.#length)
    this.#length = count
  }
}
