/**
 * What a managed process prints, between the process and whoever is attached to it: lines that wait, and the end of what it complains of.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Nothing is lost and memory is bounded: while nobody takes its lines the process is held up, as behind a full pipe. A line counts as
 * taken once it is confirmed; those that were on their way to a client that vanished go to the next one.
 */
import type { OutputChunk } from '../../guest/inside.ts'
import { LineFramer, MAXIMUM_LINE_BYTES } from './line-framer.ts'
import type { LineMessage } from './line-framer.ts'
import { LineQueue } from './line-queue.ts'
import { TextTail } from './text-tail.ts'

/** Above this a process that nobody reads waits, unless a line needs more to become whole. Less than its log keeps over a restart. */
const MAXIMUM_WAITING_BYTES = 524_288
/** The same while somebody takes its lines. */
const MAXIMUM_MOVING_BYTES = 2_097_152
/** On their way to a client that has not said that they arrived. */
const MAXIMUM_UNCONFIRMED_BYTES = 8_388_608
/** A line that pauses for so long is shown as far as it is: a program that writes its lines in pieces is quicker, a prompt is not kept. */
const QUIET_MS = 500
const HEARING_MS = 20

export interface LineRules {
  /** A longer line comes in pieces. */
  readonly maximumLineBytes?: number | undefined
  /** Whether a line that pauses is shown as far as it is. Where only whole lines mean something it is waited for instead. */
  readonly showsPauses?: boolean | undefined
}

export class ProcessOutput {
  readonly #framer: LineFramer
  readonly #showsPauses: boolean
  readonly #stderr = new TextTail()
  #waiting = new LineQueue()
  #unconfirmed = new LineQueue()
  /** Of those, what the way has not taken yet. */
  #sendingBytes = 0
  #goOn: (() => void) | null = null
  #caughtUp: Promise<void> | null = null
  #isOver = false
  #isWatched = false
  #quiet: NodeJS.Timeout | null = null
  #wake: (() => void) | null = null
  #heeded: AbortSignal | null = null
  #takenSeq: number
  #seenSeq: number

  /** `takenSeq`: up to here somebody has it already. */
  constructor(takenSeq = 0, { maximumLineBytes = MAXIMUM_LINE_BYTES, showsPauses = true }: LineRules = {}) {
    this.#framer = new LineFramer((message) => this.#queue(message), { maximumBytes: maximumLineBytes })
    this.#showsPauses = showsPauses
    this.#takenSeq = takenSeq
    this.#seenSeq = takenSeq
  }

  /** Up to where everything was taken. */
  get takenSeq(): number {
    return this.#takenSeq
  }

  get stderr(): string {
    return this.#stderr.text()
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** A promise: the process is to wait for it. */
  take(chunk: OutputChunk): void | Promise<void> {
    return this.#caughtUp === null ? this.#takeNow(chunk) : this.#takeLater(chunk, this.#caughtUp)
  }

  /** What was printed before anybody listened; what comes meanwhile waits for it. */
  catchUp(earlier: AsyncIterable<OutputChunk>): Promise<void> {
    const done = this.#readAll(earlier)
    this.#caughtUp = done
      .catch(() => undefined)
      .then(() => {
        this.#caughtUp = null
      })
    return done
  }

  /** No more comes: the rest is there to be taken, and nobody is held up. */
  end(): void {
    if (this.#caughtUp !== null) return void this.#caughtUp.then(() => this.end())
    if (this.#isOver) return
    this.#framer.end()
    this.#isOver = true
    this.#changed()
  }

  /** Somebody takes its lines from now on, beginning with those that did not arrive at the last one. */
  watch(): void {
    this.#isWatched = true
    this.#waiting = LineQueue.of(this.#unconfirmed, this.#waiting)
    this.#unconfirmed = new LineQueue()
    this.#sendingBytes = 0
    this.#listenForQuiet()
    this.#goOnUnlessFull()
  }

  unwatch(): void {
    this.#isWatched = false
    this.#stopListening()
    this.#wake?.()
  }

  /** The next line, to be confirmed; `null` when there is no more, or when `signal` fires. */
  async next(signal: AbortSignal): Promise<Buffer | null> {
    for (;;) {
      if (signal.aborted) return null
      const message = this.#waiting.shift()
      if (message !== undefined) {
        this.#unconfirmed.push(message)
        this.#sendingBytes += message.bytes.length
        return message.bytes
      }
      if (this.#isOver) return null
      await this.#news(signal)
    }
  }

  /** So many bytes are on their way, and take no room here but for the case that they do not arrive. */
  sent(bytes: number): void {
    this.#sendingBytes -= bytes
    this.#goOnUnlessFull()
  }

  /** The oldest line that was not confirmed yet has arrived. */
  confirm(): void {
    const message = this.#unconfirmed.shift()
    if (message === undefined) return
    this.#takenSeq = Math.max(this.#takenSeq, message.seq)
    this.#goOnUnlessFull()
  }

  #goOnUnlessFull(): void {
    if (this.#goOn !== null && !this.#isFull()) this.#goOn()
  }

  #takeNow({ channel, bytes, seq }: OutputChunk): void | Promise<void> {
    this.#add({ channel, bytes, seq })
    if (channel === 'stderr') return undefined
    if (!this.#isFull() || this.#isOver) return this.#listenForQuiet()
    this.#stopListening()
    return new Promise((resolve) => {
      this.#goOn = () => {
        this.#goOn = null
        this.#listenForQuiet()
        resolve()
      }
    })
  }

  async #takeLater(chunk: OutputChunk, caughtUp: Promise<void>): Promise<void> {
    const kept = { ...chunk, bytes: Buffer.from(chunk.bytes) }
    await caughtUp
    await this.#takeNow(kept)
  }

  async #readAll(earlier: AsyncIterable<OutputChunk>): Promise<void> {
    // As much as is kept of it is bounded already, so nobody is waited for.
    for await (const chunk of earlier) this.#add(chunk)
  }

  /** What was taken before comes again after a restart, when the log was behind. */
  #add({ channel, bytes, seq }: OutputChunk): void {
    if (channel === 'stderr') return this.#stderr.add(bytes)
    const fresh = Math.min(bytes.length, seq - this.#seenSeq)
    if (fresh <= 0) return
    this.#seenSeq = seq
    // The bytes are the caller's only until this returns.
    this.#framer.push(Buffer.from(bytes.subarray(bytes.length - fresh)), seq)
  }

  #isFull(): boolean {
    const readyBytes = this.#waiting.bytes + this.#sendingBytes
    const most = this.#isWatched ? MAXIMUM_MOVING_BYTES : MAXIMUM_WAITING_BYTES
    if (readyBytes > 0 && readyBytes + this.#framer.partialBytes > most) return true
    return this.#unconfirmed.bytes > MAXIMUM_UNCONFIRMED_BYTES
  }

  #queue(message: LineMessage): void {
    this.#waiting.push(message)
    this.#wake?.()
  }

  #changed(): void {
    this.#stopListening()
    this.#wake?.()
    this.#goOn?.()
  }

  #news(signal: AbortSignal): Promise<void> {
    // Once for each who takes its lines: listening anew for every line would cost more than the line.
    if (signal !== this.#heeded) signal.addEventListener('abort', () => this.#wake?.(), { once: true })
    this.#heeded = signal
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null
        resolve()
      }
    })
  }

  /** Silence counts only while somebody is there and the process is not held up. */
  #listenForQuiet(): void {
    this.#stopListening()
    if (!this.#showsPauses || this.#framer.partialBytes === 0 || !this.#isWatched || this.#goOn !== null || this.#isOver) return
    this.#quiet = setTimeout(() => {
      // A server that was busy for so long has not listened: what came meanwhile is heard before the second time.
      this.#quiet = setTimeout(() => this.#framer.flush(), HEARING_MS)
    }, QUIET_MS)
  }

  #stopListening(): void {
    if (this.#quiet !== null) clearTimeout(this.#quiet)
    this.#quiet = null
  }
}
