/**
 * How a live sandbox keeps its connection: dials again when it breaks, for a bounded time, and knows when that is over.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { setTimeout as delay } from 'node:timers/promises'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { Inside } from '../guest/inside.ts'
import type { SandboxBackend } from './backend.ts'
import { openLink } from './guest-link.ts'
import type { GuestLink, LinkOptions } from './guest-link.ts'
import { createHealthCheck, healthCounts, SKIP_MS } from './health.ts'
import type { HealthCounts } from './health.ts'
import { createCounterReader } from './limit-counters.ts'
import type { CounterReader } from './limit-counters.ts'
import type { LiveOptions, LiveSandbox } from './live-sandbox.ts'

/** Before each attempt to dial again. A connection that did not last uses up the attempts of the one before it. */
const RETRY_DELAYS_MS = [0, 20, 100, 300, 1_000, 2_000, 4_000]
/** A connection that lasted this long has proved itself. */
const STABLE_MS = 5_000
const ANSWER_MS = 5_000

export function linkOptions(options: LiveOptions, greetingMs: number): LinkOptions {
  return { clock: options.clock ?? Date.now, helloTimeoutMs: options.answerMs ?? greetingMs }
}

export class ReconnectingSandbox implements LiveSandbox {
  readonly name: string
  readonly bootId: string
  readonly gone: Promise<HoldfastError>
  readonly health: HealthCounts
  readonly limitCounters: CounterReader
  readonly check: (now: number) => Promise<boolean>
  readonly #backend: SandboxBackend
  readonly #options: LiveOptions
  readonly #retryDelaysMs: readonly number[]
  readonly #resolveGone: (reason: HoldfastError) => void
  /** Ends a dialling that nobody needs any more. */
  readonly #letGo = new AbortController()
  #link: GuestLink | null
  /** Who waits for the next connection, while there is none. */
  #next: PromiseWithResolvers<Inside> | null = null
  /** Before each attempt that is left. */
  #delaysMs: number[]
  #over: HoldfastError | null = null
  #removal: Promise<void> | null = null

  constructor(backend: SandboxBackend, name: string, link: GuestLink, options: LiveOptions) {
    this.name = name
    this.bootId = link.inside.bootId
    this.#backend = backend
    this.#options = options
    this.#retryDelaysMs = options.retryDelaysMs ?? RETRY_DELAYS_MS
    this.#delaysMs = [...this.#retryDelaysMs]
    const { promise, resolve } = Promise.withResolvers<HoldfastError>()
    this.gone = promise
    this.#resolveGone = resolve
    this.health = options.counts ?? healthCounts()
    this.limitCounters = createCounterReader(async () => (await backend.cgroupsOf?.(name)) ?? [], options.isNew ?? false)
    this.#link = link
    this.#watch(link)
    this.check = createHealthCheck({
      counts: this.health,
      skipMs: options.skipMs ?? SKIP_MS,
      heardAt: () => (this.#link?.isOpen ? this.#link.heardAt : null),
      ping: () => this.inside.ping(AbortSignal.timeout(options.answerMs ?? ANSWER_MS)),
      recover: () => this.#recover(),
    })
  }

  get inside(): Inside {
    if (this.#link?.isOpen) return this.#link.inside
    throw this.#over ?? new HoldfastError('guest_unreachable', `the connection to ${this.name} broke and is being made again`)
  }

  get isAlive(): boolean {
    return this.#over === null
  }

  connected(signal?: AbortSignal): Promise<Inside> {
    if (this.#over !== null) return Promise.reject(this.#over)
    if (this.#link?.isOpen) return Promise.resolve(this.#link.inside)
    this.#next ??= nextConnection()
    return signal === undefined ? this.#next.promise : unlessAborted(this.#next.promise, signal)
  }

  async freeze(): Promise<() => Promise<void>> {
    const freezer = this.#backend.freezer
    const thaw = () => freezer?.thaw(this.name) ?? Promise.resolve()
    try {
      await freezer?.freeze(this.name)
      return thaw
    } catch (error) {
      await thaw()
      throw error
    }
  }

  detach(): void {
    // What was sent still leaves, e.g. which executions may be forgotten.
    this.#link?.inside.close()
    this.#end(new HoldfastError('server_stopping', `the server has let go of ${this.name}, which runs on`))
  }

  destroy(): Promise<void> {
    this.#endAsGone(`the sandbox ${this.name} was destroyed by the server`)
    this.#removal ??= this.#backend.destroy(this.name).catch((error: unknown) => {
      this.#removal = null
      throw error
    })
    return this.#removal
  }

  #watch(link: GuestLink): void {
    void link.inside.closed.then((reason) => {
      if (this.#over !== null || this.#link !== link) return
      this.#link = null
      const hasLasted = this.#now() - link.openedAt >= STABLE_MS
      if (hasLasted) this.#delaysMs = [...this.#retryDelaysMs]
      if (isHoldfastError(reason, 'guest_protocol_violated')) this.#endAsGone(`the guest of ${this.name} broke the protocol`, reason)
      else void this.#dialAgain(reason)
    })
  }

  async #dialAgain(reason: unknown): Promise<void> {
    let cause = reason
    for (let delayMs = this.#delaysMs.shift(); delayMs !== undefined; delayMs = this.#delaysMs.shift()) {
      try {
        if (delayMs > 0) await delay(delayMs, undefined, { signal: this.#letGo.signal, ref: false })
        const link = await this.#dial()
        if (this.#over === null) this.#adopt(link)
        else link.drop()
        return
      } catch (error) {
        if (this.#over !== null) return
        cause = error
        if (isHoldfastError(error, 'sandbox_gone') || isHoldfastError(error, 'guest_protocol_violated')) break
      }
    }
    this.#endAsGone(isHoldfastError(cause, 'sandbox_gone') ? cause.message : `the sandbox ${this.name} is gone`, cause)
  }

  async #dial(): Promise<GuestLink> {
    const sandbox = await this.#backend.attach(this.name, this.#letGo.signal)
    const link = await openLink(sandbox, linkOptions(this.#options, ANSWER_MS), this.#letGo.signal)
    if (link.inside.bootId === this.bootId) return link
    link.drop()
    throw new HoldfastError('sandbox_gone', `another guest answers for ${this.name}`, { name: this.name })
  }

  #adopt(link: GuestLink): void {
    this.#link = link
    this.health.reconnects += 1
    this.#watch(link)
    this.#next?.resolve(link.inside)
    this.#next = null
  }

  /** After a ping without answer: one more attempt, and no second. */
  async #recover(): Promise<boolean> {
    const link = this.#link
    if (!link?.isOpen) {
      return this.connected().then(
        () => true,
        () => false,
      )
    }
    this.#link = null
    link.drop()
    this.#delaysMs = [0]
    await this.#dialAgain(new HoldfastError('guest_unreachable', `the guest of ${this.name} did not answer in time`))
    this.#delaysMs = [...this.#retryDelaysMs]
    return this.isAlive
  }

  #endAsGone(message: string, cause?: unknown): void {
    const reason = new HoldfastError('sandbox_gone', message, { name: this.name }, cause === undefined ? undefined : { cause })
    // Whoever let go may still destroy: then it is gone after all.
    this.#end(reason)
    this.#resolveGone(reason)
  }

  #end(reason: HoldfastError): void {
    if (this.#over !== null) return
    this.#over = reason
    this.#letGo.abort(reason)
    const link = this.#link
    this.#link = null
    if (!isHoldfastError(reason, 'server_stopping')) link?.drop()
    this.#next?.reject(reason)
    this.#next = null
  }

  #now(): number {
    return (this.#options.clock ?? Date.now)()
  }
}

function nextConnection(): PromiseWithResolvers<Inside> {
  const next = Promise.withResolvers<Inside>()
  // Whoever waited may have left; that it never comes is told by `gone`.
  next.promise.catch(() => undefined)
  return next
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
