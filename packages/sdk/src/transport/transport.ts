/**
 * Requests to one server in the name of one caller: addresses, headers, time-outs, retries, errors.
 *
 * Everything above asks for a path and gets an answer that succeeded, or a `HoldfastError`.
 */
import { HoldfastError, isHoldfastError } from '../errors.ts'
import { serverEvents } from './event-source.ts'
import type { ServerEvent } from './event-source.ts'
import { patience, pause, reasonOf } from './patience.ts'
import type { Patience, Waiting } from './patience.ts'
import { problemOf } from './problem.ts'
import { retryDelayMs } from './retrying.ts'

export interface TransportNeeds {
  readonly url: string
  readonly apiKey: string | undefined
  readonly tenant: string | undefined
  readonly onBehalfOf: string | undefined
  readonly groups: readonly string[] | undefined
  readonly fetch: typeof globalThis.fetch
  readonly webSocket: typeof globalThis.WebSocket | undefined
  readonly timeoutMs: number
  /** From 0 up to, not including, 1: how much of each wait. */
  readonly random?: () => number
}

/** A list is given as often as it has items. */
type QueryValue = string | number | boolean | readonly string[] | undefined

/** What every `fetch` takes as a body. */
export type SentBody = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>

export interface ApiRequest extends Waiting {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, QueryValue>>
  /** Sent as JSON. */
  readonly json?: object
  /** Or sent as it is. */
  readonly body?: SentBody
  readonly headers?: Readonly<Record<string, string>>
  /** For a stream, which cannot be repeated: neither an Idempotency-Key nor a second try. */
  readonly isOnce?: boolean
}

/** An answer whose body is still to be read. */
export interface OpenAnswer {
  readonly response: Response
  /** Its body as events, up to the end of the stream. */
  events(): AsyncIterable<ServerEvent>
  /** What a failure while the body is read is thrown as. */
  broken(cause: unknown): Error
  /** Lets go of the connection and of the caller's signal. Safe to call twice. */
  close(): void
}

export interface Transport {
  readonly url: string
  readonly timeoutMs: number
  /** The answer's JSON, taken at the server's word. */
  json<T>(request: ApiRequest): Promise<T>
  /** For an answer without a body. */
  send(request: ApiRequest): Promise<void>
  /** `timeoutMs` counts until the headers are there. */
  open(request: ApiRequest): Promise<OpenAnswer>
  /** `protocol`: the subprotocol that is spoken there. */
  socket(path: string, query: Readonly<Record<string, QueryValue>>, protocol: string): WebSocket
}

/** What a WebSocket asks for so that its key need not stand in the address, which gets logged. */
const KEY_PROTOCOL = 'holdfast.key.'

export function createTransport(needs: TransportNeeds): Transport {
  const { apiKey, timeoutMs, random = Math.random } = needs
  const url = baseUrl(needs.url)
  const speaker = speakerHeaders(needs)

  function addressOf(path: string, query: Readonly<Record<string, QueryValue>> = {}): string {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue
      for (const one of typeof value === 'object' ? value : [String(value)]) parameters.append(name, one)
    }
    const text = parameters.toString()
    return `${url}${path}${text === '' ? '' : `?${text}`}`
  }

  async function ask(request: ApiRequest, key: string | null, signal: AbortSignal): Promise<Response> {
    const { method = 'GET', path, query, json, body } = request
    const headers: Record<string, string> = { accept: 'application/json', ...speaker, ...request.headers }
    if (apiKey !== undefined) headers['authorization'] = `Bearer ${apiKey}`
    if (json !== undefined) headers['content-type'] = 'application/json'
    if (key !== null) headers['idempotency-key'] = key
    const address = addressOf(path, query)
    const sent = json === undefined ? body : JSON.stringify(json)
    if (signal.aborted) throw reasonOf(signal)
    let response: Response
    try {
      // A redirect would turn a POST into a GET. A body that is a stream is sent as it comes.
      const init: RequestInit = { method, headers, signal, redirect: 'manual' }
      response = await needs.fetch(address, sent === undefined ? init : { ...init, body: sent, duplex: 'half' })
    } catch (cause) {
      if (signal.aborted) throw reasonOf(signal)
      throw unreachable(url, cause)
    }
    if (!response.ok) throw await problemOf(response, url)
    return response
  }

  /** Asks, and takes from the answer what is wanted; both again as often as it is safe and may help. */
  async function answer<T>(request: ApiRequest, waiting: Patience, take: (response: Response) => T | Promise<T>): Promise<T> {
    const { method = 'GET', isOnce = false } = request
    const key = method === 'POST' && !isOnce ? freshKey() : null
    const isRepeatable = !isOnce && (method === 'GET' || key !== null)
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await take(await ask(request, key, waiting.signal))
      } catch (error) {
        const delayMs = isRepeatable && !waiting.signal.aborted ? retryDelayMs(error, attempt, random) : null
        if (delayMs === null) throw error
        // Time that is up while "later" is waited for: why it was waited says more.
        await pause(delayMs, waiting.signal).catch((reason: unknown) => {
          throw isHoldfastError(reason, 'request_timed_out') ? error : reason
        })
      }
    }
  }

  function waitingFor({ method = 'GET', path, signal, timeoutMs: own = timeoutMs }: ApiRequest): Patience {
    return patience({ signal, timeoutMs: own }, `${method} ${url}${path}`)
  }

  async function textOf(request: ApiRequest): Promise<string> {
    const waiting = waitingFor(request)
    try {
      return await answer(request, waiting, (response) =>
        response.text().catch((cause: unknown) => {
          throw waiting.signal.aborted ? reasonOf(waiting.signal) : unreachable(url, cause)
        }),
      )
    } finally {
      waiting.end()
    }
  }

  return {
    url,
    timeoutMs,
    async json<T>(request: ApiRequest) {
      const body = await textOf(request)
      try {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server is taken at its word; its shapes are the protocol's
        return JSON.parse(body) as T
      } catch (cause) {
        const message = `${url}${request.path} answered something that is not JSON`
        throw new HoldfastError({ code: 'invalid_answer', message, hint: 'Check the address.' }, { cause })
      }
    },
    async send(request) {
      await textOf(request)
    },
    async open(request) {
      const waiting = waitingFor(request)
      try {
        const response = await answer(request, waiting, (whole) => whole)
        waiting.stopClock()
        const broken = (cause: unknown) => (request.signal?.aborted === true ? reasonOf(request.signal) : unreachable(url, cause))
        return {
          response,
          broken,
          events: () => serverEvents(response.body ?? new Blob([]).stream(), broken),
          close: () => waiting.abandon(),
        }
      } catch (error) {
        waiting.end()
        throw error
      }
    },
    socket(path, query, protocol) {
      const { webSocket: Socket } = needs
      if (Socket === undefined) throw withoutSockets('this runtime has no WebSocket', 'Use Node 22 or newer, or give `webSocket`.')
      const protocols = [protocol, ...(apiKey === undefined ? [] : [`${KEY_PROTOCOL}${apiKey}`])]
      const address = addressOf(path, query).replace(/^http/, 'ws')
      if (Object.keys(speaker).length === 0) return new Socket(address, protocols)
      try {
        // Node, Deno and Bun take headers here; browsers do not, and refuse the object as a protocol's name.
        return new Socket(address, { protocols, headers: speaker })
      } catch (cause) {
        throw withoutSockets('a WebSocket of this runtime cannot speak for a tenant or a user', 'Use a key of that user.', cause)
      }
    },
  }
}

function baseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new HoldfastError({
      ...{ code: 'invalid_request', message: `url: ${JSON.stringify(text)} is not an address such as http://127.0.0.1:5410` },
      hint: 'Give `url`, or set HOLDFAST_URL.',
    })
  return text.replace(/(?<!\/)\/+$/, '')
}

function speakerHeaders({ tenant, onBehalfOf, groups }: TransportNeeds): Record<string, string> {
  const headers: Record<string, string> = {}
  if (tenant !== undefined) headers['x-holdfast-tenant'] = tenant
  if (onBehalfOf !== undefined) headers['x-holdfast-on-behalf-of'] = onBehalfOf
  if (groups !== undefined && groups.length > 0) headers['x-holdfast-groups'] = groups.join(',')
  try {
    return Object.fromEntries(new Headers(headers))
  } catch (cause) {
    const message = 'tenant, onBehalfOf and groups travel in headers, which take no such characters'
    throw new HoldfastError({ code: 'invalid_request', message, hint: 'Use visible ASCII characters.' }, { cause })
  }
}

function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `sdk-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** The server was not reached, or not to the end. */
export function unreachable(url: string, cause: unknown): HoldfastError {
  return new HoldfastError(
    {
      ...{ code: 'server_unreachable', message: `cannot reach the server at ${url}: ${wordsOf(cause)}`, retry: 'after-delay' },
      hint: foreignPage(url) ?? 'Start it with `npm run up` or `holdfast up`, or set HOLDFAST_URL.',
    },
    { cause },
  )
}

interface PageLocation {
  readonly origin: string
}

/** Present in browsers; the types of this package are those of every runtime. */
function pageLocation(): PageLocation | undefined {
  const location: unknown = Reflect.get(globalThis, 'location')
  const hasOrigin = typeof location === 'object' && location !== null && 'origin' in location && typeof location.origin === 'string'
  return hasOrigin ? { origin: String(location.origin) } : undefined
}

/** A browser does not tell a page why it got no answer; for a page of another origin it is mostly that the server does not allow it. */
export function foreignPage(url: string, location: PageLocation | undefined = pageLocation()): string | undefined {
  if (location === undefined || location.origin === 'null' || new URL(url).origin === location.origin) return undefined
  return `If the server runs, it does not allow pages of ${location.origin}: put that origin into its setting cors.allowed_origins.`
}

/** The reason is often in the cause of the cause. */
function wordsOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const inner = cause.cause instanceof Error ? cause.cause.message : ''
  return inner === '' ? cause.message : inner
}

function withoutSockets(message: string, hint: string, cause?: unknown): HoldfastError {
  return new HoldfastError({ code: 'capability_unsupported', message, retry: 'after-change', hint }, { cause })
}
