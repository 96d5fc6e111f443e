/**
 * Records: what applets print, as NUL-terminated strings in groups of a fixed width.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * Applets run as the sandbox's user, so any program inside may have changed what they print: every record is bounded, and a
 * breach ends the one operation that asked. Names that are no UTF-8 come with U+FFFD in them.
 */
import { violated } from './violation.ts'

export const MAX_RECORD_BYTES = 16_384

export class RecordParser {
  readonly #width: number
  readonly #onRecord: (strings: readonly string[]) => void
  #strings: string[] = []
  #rest: Buffer = Buffer.alloc(0)

  constructor(width: number, onRecord: (strings: readonly string[]) => void) {
    this.#width = width
    this.#onRecord = onRecord
  }

  push(bytes: Buffer): void {
    let start = 0
    for (let end = bytes.indexOf(0); end >= 0; end = bytes.indexOf(0, start)) {
      this.#take(bytes.subarray(start, end))
      start = end + 1
    }
    if (start === bytes.length) return
    this.#requireBounded(this.#rest.length + bytes.length - start)
    this.#rest = Buffer.concat([this.#rest, bytes.subarray(start)])
  }

  /** The applet is done: a record that was begun must have been finished. */
  end(): void {
    if (this.#rest.length > 0 || this.#strings.length > 0) throw violated('the last record of an applet is cut off')
  }

  #take(piece: Buffer): void {
    this.#requireBounded(this.#rest.length + piece.length)
    this.#strings.push((this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])).toString('utf8'))
    if (this.#rest.length > 0) this.#rest = Buffer.alloc(0)
    if (this.#strings.length < this.#width) return
    const strings = this.#strings
    this.#strings = []
    this.#onRecord(strings)
  }

  #requireBounded(bytes: number): void {
    if (bytes > MAX_RECORD_BYTES) throw violated(`a record of an applet has more than ${MAX_RECORD_BYTES} bytes`)
  }
}
