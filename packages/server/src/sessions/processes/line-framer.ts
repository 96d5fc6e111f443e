/**
 * A program's output as messages: one line each, with its end, in whole characters and never above a maximum, 1 MiB unless it is said.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A line that is longer is cut between characters into pieces below that; only the last one ends with a newline. What is not UTF-8
 * becomes U+FFFD, unless the bytes are to stay as they are. Every message knows the sequence number of its last byte, so that whoever took it can go on behind it later.
 */
import { isUtf8 } from 'node:buffer'

/** What most clients take in one message at most. */
export const MAXIMUM_LINE_BYTES = 1_048_576
/** So that a piece and a character that hangs over it stay below the maximum. */
const CHARACTER_BYTES = 4
const NEWLINE = 10

export interface LineMessage {
  readonly bytes: Buffer
  /** Of both streams, after its last byte. */
  readonly seq: number
}

export class LineFramer {
  readonly #emit: (message: LineMessage) => void
  #parts: Buffer[] = []
  #partialBytes = 0
  #seq = 0
  readonly #maximumBytes: number
  readonly #pieceBytes: number
  readonly #isText: boolean

  /** `isText`: every message is valid UTF-8. */
  constructor(emit: (message: LineMessage) => void, { maximumBytes = MAXIMUM_LINE_BYTES, isText = true } = {}) {
    this.#emit = emit
    this.#isText = isText
    this.#maximumBytes = maximumBytes
    this.#pieceBytes = maximumBytes - CHARACTER_BYTES
  }

  /** Of a line that has not ended. */
  get partialBytes(): number {
    return this.#partialBytes
  }

  /** `bytes` stay as they are from now on; `seq` is the number after the last of them. */
  push(bytes: Buffer, seq: number): void {
    let from = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      this.#add(bytes.subarray(from, end + 1), seq - (bytes.length - end - 1))
      from = end + 1
      this.#send(this.#take(this.#partialBytes))
    }
    if (from < bytes.length) this.#add(bytes.subarray(from), seq)
    this.#cut()
  }

  /** Sends what there is of a line that does not go on, except a character that is not whole yet. */
  flush(): void {
    const held = this.#partialBytes === 0 ? 0 : danglingBytes(this.#whole())
    if (this.#partialBytes > held) this.#send(this.#take(this.#partialBytes - held))
  }

  /** No more comes. */
  end(): void {
    if (this.#partialBytes > 0) this.#send(this.#take(this.#partialBytes))
  }

  #add(bytes: Buffer, seq: number): void {
    this.#parts.push(bytes)
    this.#partialBytes += bytes.length
    this.#seq = seq
  }

  #cut(): void {
    while (this.#partialBytes > this.#maximumBytes) this.#sendPiece()
  }

  #sendPiece(): void {
    const piece = this.#whole().subarray(0, this.#pieceBytes)
    this.#send(this.#take(piece.length - danglingBytes(piece)))
  }

  #whole(): Buffer {
    if (this.#parts.length !== 1) this.#parts = [Buffer.concat(this.#parts, this.#partialBytes)]
    return this.#parts[0] ?? Buffer.alloc(0)
  }

  #take(length: number): LineMessage {
    const whole = this.#whole()
    const rest = whole.subarray(length)
    this.#parts = rest.length === 0 ? [] : [rest]
    this.#partialBytes = rest.length
    return { bytes: whole.subarray(0, length), seq: this.#seq - rest.length }
  }

  #send({ bytes, seq }: LineMessage): void {
    const text = !this.#isText || isUtf8(bytes) ? bytes : Buffer.from(bytes.toString('utf8'))
    if (text.length <= this.#maximumBytes) return this.#emit({ bytes: text, seq })
    for (let from = 0; from < text.length;) {
      const piece = text.subarray(from, from + this.#pieceBytes)
      const length = from + piece.length === text.length ? piece.length : piece.length - danglingBytes(piece)
      from += length
      // Only whoever has all of it is behind it.
      this.#emit({ bytes: piece.subarray(0, length), seq: from === text.length ? seq : seq - bytes.length })
    }
  }
}

/** How many bytes at the end are the beginning of a character that is not whole. */
export function danglingBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}
