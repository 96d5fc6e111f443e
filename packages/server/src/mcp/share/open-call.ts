/**
 * One call under way: it ends once, with an answer or a failure.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * There are many, and most are over at once: what only a few need is made when it is asked for.
 */
import type { HoldfastError } from '@holdfast/protocol'
import type { JsonObject, Reply, RpcId } from './message.ts'

/** Carries a request of the server to a client. Settles when the client answers, or `signal` fires. */
export type AskClient = (
  request: { readonly method: string; readonly params: JsonObject | undefined },
  signal: AbortSignal,
) => Promise<Reply>

export interface CallOptions {
  /** The caller left, or has thought better of it. */
  readonly signal?: AbortSignal
  /** With the token that the caller gave. */
  readonly onProgress?: (params: JsonObject) => void
  /** For what the server wants to know while the call is under way; without it the client cannot be asked. */
  readonly onRequest?: AskClient
}

export interface Call {
  /** `null`: the server is asked by ourselves. */
  readonly client: object | null
  readonly options: CallOptions
  /** Fires when it is over. */
  readonly over: AbortSignal
}

export interface OpenCallNeeds {
  readonly client: object | null
  readonly options: CallOptions
  /** The caller's, for its progress. */
  readonly token: RpcId | undefined
  readonly timeoutMs: number
  onTimeout(call: OpenCall): void
}

export class OpenCall implements Call {
  readonly client: object | null
  readonly options: CallOptions
  readonly token: RpcId | undefined
  readonly #outcome = Promise.withResolvers<Reply>()
  readonly #timer: NodeJS.Timeout
  #over: AbortController | null = null
  #isOver = false
  #isAnswered = false

  constructor({ client, options, token, timeoutMs, onTimeout }: OpenCallNeeds) {
    this.client = client
    this.options = options
    this.token = token
    this.#timer = setTimeout(() => onTimeout(this), timeoutMs)
  }

  get outcome(): Promise<Reply> {
    return this.#outcome.promise
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** By the server itself. */
  get isAnswered(): boolean {
    return this.#isAnswered
  }

  get over(): AbortSignal {
    this.#over ??= new AbortController()
    if (this.#isOver) this.#over.abort()
    return this.#over.signal
  }

  settle(reply: Reply): void {
    this.#isAnswered = true
    this.#end()
    this.#outcome.resolve(reply)
  }

  fail(error: HoldfastError): void {
    this.#end()
    this.#outcome.reject(error)
  }

  /** Something was heard of it, so it is waited for anew. */
  progressed(params: JsonObject): void {
    if (this.#isOver || this.token === undefined) return
    this.#timer.refresh()
    this.options.onProgress?.({ ...params, progressToken: this.token })
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#isOver = true
    this.#over?.abort()
  }
}
