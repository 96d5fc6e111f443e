/**
 * From the wire to one consumer: hands output over as it comes, keeps what comes too early, and never exceeds the window.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * Callbacks and no promises, because every byte of every program passes here. The window is what may be on the way or kept;
 * an ACK goes out whenever half of it was consumed, or many changes between stdout and stderr: more often, and the guest is woken more
 * often than it has work.
 * A guest that is short of memory may keep to a smaller window than the one we allow; it says so when it starts.
 */
import { OutputQueue } from './output-queue.ts'
import type { OutputChannel } from './output-queue.ts'
import { violated } from './violation.ts'

/** For a guest that does not say its window: half of the smallest that any guest has. */
const CAUTIOUS_ACKNOWLEDGE_BYTES = 32_768
/** A guest keeps at most 4,096 runs of one channel (`JOURNAL_SEGMENTS`), and reads nothing more from the program until some are acknowledged. */
const ACKNOWLEDGE_RUNS = 1_024

const SHARING_BYTES = 8_192
const SLAB_BYTES = 262_144

export interface OutputConsumer {
  /** True: chunks are the consumer's own. False: a chunk is valid only during the call, and nothing is copied. */
  readonly keepsBytes: boolean
  /** `seq` is the number after this chunk. False pauses until `resume`. Must not throw. */
  chunk(channel: OutputChannel, bytes: Buffer, seq: number): boolean
  /** Everything was handed over and no more comes. Called once. */
  finished(): void
}

export class OutputReader {
  readonly #windowBytes: number
  #acknowledgeBytes: number
  readonly #acknowledge: (seq: number) => void
  readonly #queue = new OutputQueue()
  /** What is left of the slab that copies share. */
  #slab: Buffer | null = null
  #receivedSeq = 0
  #consumedSeq = 0
  #acknowledgedSeq = 0
  /** Consumed since the last ACK: how often the channel changed. */
  #runs = 0
  #lastChannel: OutputChannel | null = null
  #consumer: OutputConsumer | null = null
  #isPaused = false
  #isHanding = false
  #isComplete = false
  #isFinished = false

  constructor(windowBytes: number, acknowledge: (seq: number) => void) {
    this.#windowBytes = windowBytes
    this.#acknowledgeBytes = Math.min(windowBytes / 2, CAUTIOUS_ACKNOWLEDGE_BYTES)
    this.#acknowledge = acknowledge
  }

  get receivedSeq(): number {
    return this.#receivedSeq
  }

  /** The number of the first byte to come, and the window the guest keeps to if it said so. */
  startAt(seq: number, guestWindowBytes: number | undefined): void {
    this.#receivedSeq = seq
    this.#consumedSeq = seq
    this.#acknowledgedSeq = seq
    if (guestWindowBytes !== undefined) this.#acknowledgeBytes = Math.min(this.#windowBytes, guestWindowBytes) / 2
  }

  /** Bytes from the guest, valid during the call. Throws when they exceed the window. */
  deliver(channel: OutputChannel, bytes: Buffer): void {
    if (bytes.length === 0) throw violated('a DATA frame is empty')
    this.#receivedSeq += bytes.length
    if (this.#receivedSeq - this.#acknowledgedSeq > this.#windowBytes)
      throw violated(`output exceeds the window of ${this.#windowBytes} bytes`)
    if (this.#consumer === null || this.#isPaused || this.#isHanding || !this.#queue.isEmpty) this.#queue.push(channel, bytes)
    else {
      this.#hand(this.#consumer, channel, this.#consumer.keepsBytes ? this.#copy(bytes) : bytes)
      // The consumer may have ended everything from within, and could not be told so at that moment.
      if (this.#isComplete) this.#pump()
    }
  }

  /** No more output follows what was delivered. */
  complete(): void {
    this.#isComplete = true
    this.#pump()
  }

  /** Drops what is kept; the consumer hears the end at once. */
  abandon(): void {
    this.#queue.clear()
    this.#isComplete = true
    this.#isPaused = false
    this.#pump()
  }

  consume(consumer: OutputConsumer): void {
    if (this.#consumer) throw new Error('the output of an execution has one reader, and it has one already')
    this.#consumer = consumer
    this.#pump()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#pump()
  }

  #pump(): void {
    const consumer = this.#consumer
    if (consumer === null || this.#isHanding) return
    while (!this.#isPaused && !this.#queue.isEmpty) {
      const { channel, bytes } = this.#queue.shift()
      this.#hand(consumer, channel, bytes)
    }
    if (!this.#isComplete || this.#isFinished || this.#isPaused || !this.#queue.isEmpty) return
    this.#isFinished = true
    consumer.finished()
  }

  #hand(consumer: OutputConsumer, channel: OutputChannel, bytes: Buffer): void {
    this.#consumedSeq += bytes.length
    this.#isHanding = true
    if (!consumer.chunk(channel, bytes, this.#consumedSeq)) this.#isPaused = true
    this.#isHanding = false
    if (channel !== this.#lastChannel) this.#runs += 1
    this.#lastChannel = channel
    const isDue = this.#consumedSeq - this.#acknowledgedSeq >= this.#acknowledgeBytes || this.#runs >= ACKNOWLEDGE_RUNS
    if (this.#isComplete || !isDue) return
    this.#runs = 0
    this.#acknowledgedSeq = this.#consumedSeq
    this.#acknowledge(this.#consumedSeq)
  }

  /** Large pieces share slabs, because a buffer costs the collector more than its bytes; small ones must not keep a slab alive. */
  #copy(bytes: Buffer): Buffer {
    if (bytes.length < SHARING_BYTES) return copyInto(Buffer.allocUnsafeSlow(bytes.length), bytes)
    if (this.#slab === null || this.#slab.length < bytes.length) this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
    const place = this.#slab.subarray(0, bytes.length)
    this.#slab = this.#slab.subarray(bytes.length)
    return copyInto(place, bytes)
  }
}

function copyInto(place: Buffer, bytes: Buffer): Buffer {
  bytes.copy(place)
  return place
}
