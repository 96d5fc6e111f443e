/**
 * Messages on their way to one reader, as server-sent events at the reader's pace.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * Bounded, each and all together: who does not read loses notifications, and never an answer.
 */
import { encoded, partsOf } from '../../../mcp/share/large-json.ts'
import type { JsonText } from '../../../mcp/share/large-json.ts'
import type { GatewayLimits } from './limits.ts'

type OutboxLimits = Pick<GatewayLimits, 'waitingMessages' | 'waitingBytes' | 'allWaitingBytes'>

/** So much has its place in each, however many others do not read. */
const SMALL_BYTES = 16_384

/** One event; what was never decoded stays bytes. */
type Frame = readonly (string | Buffer)[]

/** Of outboxes that share one bound. */
export function outboxes(limits: OutboxLimits): () => Outbox {
  const room = { bytes: 0 }
  return () => new Outbox(limits, room)
}

export class Outbox {
  readonly #limits: OutboxLimits
  /** What waits in all that share it, with what their readers took last and may not have read yet. */
  readonly #room: { bytes: number }
  #frames: Frame[] = []
  #bytes = 0
  #takenBytes = 0
  #isOver = false
  #lost = 0
  #wake: (() => void) | null = null

  constructor(limits: OutboxLimits, room = { bytes: 0 }) {
    this.#limits = limits
    this.#room = room
  }

  /** Notifications that nobody took in time. */
  get lost(): number {
    return this.#lost
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether it waits for its reader: it is lost when too much does already. */
  tell(text: JsonText): boolean {
    const hasRoom = !this.#isOver && this.#hasRoomFor(text.length)
    if (hasRoom) this.say(text)
    else this.#lost += 1
    return hasRoom
  }

  /** Something that must arrive. */
  say(text: JsonText): void {
    this.#put(['event: message\ndata: ', ...partsOf(text), '\n\n'])
  }

  /** So that nobody between here and the reader takes the silence for an end. */
  breathe(): void {
    if (this.#frames.length === 0) this.#put([': still here\n\n'])
  }

  /** What waits is still taken. */
  end(): void {
    this.#isOver = true
    this.#wake?.()
  }

  /** Nobody will take what waits. */
  discard(): void {
    this.end()
    this.#room.bytes -= this.#bytes + this.#takenBytes
    this.#frames = []
    this.#bytes = 0
    this.#takenBytes = 0
  }

  /** `null`: no more comes, or `signal` has fired. Who asks again has read what it took before. */
  async take(signal: AbortSignal): Promise<readonly Buffer[] | null> {
    this.#room.bytes -= this.#takenBytes
    this.#takenBytes = 0
    for (;;) {
      if (signal.aborted) return null
      const frames = this.#frames
      if (frames.length > 0) {
        this.#frames = []
        this.#takenBytes = this.#bytes
        this.#bytes = 0
        return encoded(frames.flat())
      }
      if (this.#isOver) return null
      await this.#news(signal)
    }
  }

  #hasRoomFor(bytes: number): boolean {
    const { waitingMessages, waitingBytes, allWaitingBytes } = this.#limits
    if (this.#frames.length >= waitingMessages || this.#bytes + bytes > waitingBytes) return false
    return this.#room.bytes + bytes <= allWaitingBytes || this.#bytes + this.#takenBytes + bytes <= SMALL_BYTES
  }

  #put(frame: Frame): void {
    if (this.#isOver) return
    const bytes = frame.reduce((sum, { length }) => sum + length, 0)
    this.#frames.push(frame)
    this.#bytes += bytes
    this.#room.bytes += bytes
    this.#wake?.()
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        if (this.#wake === wake) this.#wake = null
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#wake = wake
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}
