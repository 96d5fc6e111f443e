/**
 * Makes a program wait for the readers of its output, so that they get every byte of it.
 *
 * What a program printed and its readers do not have yet is kept in the files of its output, which hold at least FILE_BYTES. Before more
 * than half of that is unread, the program waits. A reader has everything before the byte that it asks for, so a connection that breaks
 * loses nothing. A program that has no reader for a minute runs on; the next reader gets a gap.
 */
import type { OutputChunk } from '../../guest/inside.ts'
import { FILE_BYTES } from './output-files.ts'
import { framedBytes } from './output-record.ts'

/** Unread bytes, as they lie in the files. */
const HELD_BYTES = FILE_BYTES / 2
/** After so many bytes a stream ends, and its reader says by asking for the next one what it has. */
export const STREAM_BYTES = FILE_BYTES / 4
const MARK_BYTES = 16_384
const PATIENCE_MS = 60_000

interface Reader {
  readonly after: number
}

export class ReaderHold {
  readonly #patienceMs: number
  readonly #readers = new Set<Reader>()
  /** Bytes in the files: printed by now, and those that the readers have. */
  #framed = 0
  #readFramed = 0
  /** Numbers of bytes printed, with the bytes in the files up to there; oldest first. */
  #marks: { readonly seq: number; readonly framed: number }[] = []
  #waiting: (() => void)[] = []
  #patience: NodeJS.Timeout | null = null
  #isForsaken = false

  /** `seq`: printed before; what of it is unread is not known, so it counts as much as may be. */
  constructor(seq: number, patienceMs = PATIENCE_MS) {
    this.#patienceMs = patienceMs
    if (seq === 0) return
    this.#framed = HELD_BYTES
    this.#marks.push({ seq, framed: HELD_BYTES })
  }

  /** The program stands still until a reader asks for more. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** A promise: the program is to wait. */
  take({ bytes, seq }: OutputChunk): Promise<void> | undefined {
    this.#framed += framedBytes(bytes.length)
    if (this.#framed - (this.#marks.at(-1)?.framed ?? 0) >= MARK_BYTES) this.#marks.push({ seq, framed: this.#framed })
    if (this.#isForsaken || this.#unread < HELD_BYTES) return undefined
    this.#waitForReader()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Somebody reads from there on, until the returned function is called. */
  read(after: number): () => void {
    const reader: Reader = { after }
    this.#readers.add(reader)
    this.#isForsaken = false
    this.#endPatience()
    this.#settle()
    return () => {
      this.#readers.delete(reader)
      // One that asked for the next part may be here before its last part has left.
      if (this.#readers.size > 0) this.#settle()
      else if (this.#waiting.length > 0) this.#waitForReader()
    }
  }

  get #unread(): number {
    return this.#framed - this.#readFramed
  }

  #settle(): void {
    const readSeq = Math.min(...[...this.#readers].map(({ after }) => after))
    const isRead = ({ seq }: { readonly seq: number }) => seq <= readSeq
    this.#readFramed = this.#marks.findLast(isRead)?.framed ?? this.#readFramed
    this.#marks = this.#marks.filter((mark) => !isRead(mark))
    if (this.#unread < HELD_BYTES) this.#goOn()
  }

  #waitForReader(): void {
    if (this.#readers.size > 0) return
    this.#patience ??= setTimeout(() => {
      this.#isForsaken = true
      this.#patience = null
      this.#goOn()
    }, this.#patienceMs).unref()
  }

  #endPatience(): void {
    if (this.#patience !== null) clearTimeout(this.#patience)
    this.#patience = null
  }

  #goOn(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
