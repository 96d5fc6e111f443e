/**
 * PING and PONG: one round trip on request, and a heartbeat that notices a guest which is connected but dead.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { violated } from './violation.ts'

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export class Pings {
  readonly #send: (token: number) => void
  readonly #fail: (error: HoldfastError) => void
  readonly #heartbeat: { readonly intervalMs: number; readonly timeoutMs: number } | undefined
  readonly #waiters = new Map<number, Waiter>()
  #nextToken = 1
  #timer: NodeJS.Timeout | null = null

  constructor(
    send: (token: number) => void,
    fail: (error: HoldfastError) => void,
    heartbeat: { readonly intervalMs: number; readonly timeoutMs: number } | undefined,
  ) {
    this.#send = send
    this.#fail = fail
    this.#heartbeat = heartbeat
  }

  /** Ends the channel when no answer comes in time: a guest that does not answer this answers nothing. */
  async ping(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const token = this.#nextToken
    this.#nextToken += 1
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiters.set(token, { resolve, reject })
    this.#send(token)
    const timer = setTimeout(() => this.#late(token, timeoutMs), timeoutMs).unref()
    const abort = (): void => reject(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      await promise
    } finally {
      // An aborted caller leaves, but the answer is still owed.
      if (!signal?.aborted) clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  /** When the server itself was too busy to read, the answer lies in the socket: one turn of the loop reads it. */
  #late(token: number, timeoutMs: number): void {
    setImmediate(() => {
      setImmediate(() => {
        if (!this.#waiters.has(token)) return
        this.#fail(new HoldfastError('guest_unreachable', `the guest did not answer PING within ${timeoutMs} ms`))
      })
    })
  }

  pong(token: number): void {
    const waiter = this.#waiters.get(token)
    if (!waiter) throw violated(`PONG ${token} answers no PING`)
    this.#waiters.delete(token)
    waiter.resolve()
  }

  start(): void {
    const heartbeat = this.#heartbeat
    if (!heartbeat) return
    this.#timer = setTimeout(() => void this.#beat(heartbeat.timeoutMs), heartbeat.intervalMs).unref()
  }

  async #beat(timeoutMs: number): Promise<void> {
    // Decision: a failed beat has already ended the channel, which tells everybody.
    await this.ping(timeoutMs).then(
      () => this.start(),
      () => undefined,
    )
  }

  lost(error: HoldfastError): void {
    if (this.#timer) clearTimeout(this.#timer)
    for (const waiter of this.#waiters.values()) waiter.reject(error)
    this.#waiters.clear()
  }
}
