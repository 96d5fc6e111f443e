/**
 * Messages on their way to one reader, as server-sent events at the reader's pace.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * Bounded: who does not read loses notifications, and never an answer or a question.
 */
import type { GatewayLimits } from './limits.ts'

type OutboxLimits = Pick<GatewayLimits, 'waitingMessages' | 'waitingBytes' | 'keepAliveMs'>

export class Outbox {
  readonly #limits: OutboxLimits
  #frames: string[] = []
  #bytes = 0
  #isOver = false
  #lost = 0
  #wake: (() => void) | null = null

  constructor(limits: OutboxLimits) {
    this.#limits = limits
  }

  /** Notifications that nobody took in time. */
  get lost(): number {
    return this.#lost
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** A notification: lost when too much waits already. */
  tell(text: string): void {
    const { waitingMessages, waitingBytes } = this.#limits
    if (this.#frames.length >= waitingMessages || this.#bytes + text.length > waitingBytes) this.#lost += 1
    else this.say(text)
  }

  /** Something that must arrive. */
  say(text: string): void {
    this.#put(`event: message\ndata: ${text}\n\n`)
  }

  /** So that nobody between here and the reader takes the silence for an end. */
  breathe(): void {
    if (this.#frames.length === 0) this.#put(': still here\n\n')
  }

  /** What waits is still taken. */
  end(): void {
    this.#isOver = true
    this.#wake?.()
  }

  /** `null`: no more comes, or `signal` has fired. */
  async take(signal: AbortSignal): Promise<string | null> {
    for (;;) {
      if (signal.aborted) return null
      const frames = this.#frames
      if (frames.length > 0) {
        this.#frames = []
        this.#bytes = 0
        return frames.join('')
      }
      if (this.#isOver) return null
      await this.#news(signal)
    }
  }

  #put(frame: string): void {
    if (this.#isOver) return
    this.#frames.push(frame)
    this.#bytes += frame.length
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
