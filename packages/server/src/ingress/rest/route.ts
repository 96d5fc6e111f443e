/**
 * One row of the route table: what is asked, what is answered, which errors there are, who may, and the handler.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The door, the OpenAPI document and the walk of all routes in the tests are made from these rows and from nothing else.
 */
import type { ErrorCode, ProblemDocument } from '@holdfast/protocol'
import { z } from 'zod'
import type { Principal } from '../../access/principal.ts'
import type { Verb } from '../../access/roles.ts'
import type { Caller } from '../../sessions/caller.ts'
import { ByteContent } from './byte-content.ts'
import type { Claim } from './idempotency.ts'
import { parseBody, parsePath, parseQuery } from './parse.ts'

/** A verb of the table of roles; or everybody with a key; or everybody. */
export type Authorization = Verb | 'any-principal' | 'public'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One possible answer. `name` is that of the schema in the OpenAPI document; `events` says what the answer is as a stream. */
export interface Payload<S extends z.ZodType | ByteContent | null = z.ZodType | ByteContent | null> {
  readonly description: string
  readonly name: string | null
  readonly schema: S
  readonly events: string | null
}

export interface Reply {
  readonly status: number
  /** `null`: none. A stream is sent byte for byte, anything else as JSON. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A list that is only written down may be one that nobody may change. */
type Given<T> = { readonly [F in keyof T]: T[F] extends readonly (infer I)[] ? readonly I[] : T[F] }

/** What a handler may give, from the answers that its row declares; a stream is a `Response` of its own. */
export type ReplyOf<A> =
  | {
      [S in keyof A]: A[S] extends Payload<infer B>
        ? {
            readonly status: S
            readonly body: B extends z.ZodType ? Given<z.input<B>> : B extends ByteContent ? ReadableStream<Uint8Array> : null
            readonly headers?: Readonly<Record<string, string>>
          }
        : never
    }[keyof A]
  | Response

/** What is known of every request. */
export interface Visit {
  readonly requestId: string
  /** Fires when the client leaves. */
  readonly signal: AbortSignal
  /** Only the headers are wanted; the body of the answer is ended unread. */
  readonly isHead?: boolean
  header(name: string): string | undefined
  /** The document of a failure that has to be told in a stream; what is a bug is logged. */
  problemOf(error: unknown): ProblemDocument
  /** Asks again whether the key is still good, for answers that go on for long. */
  recheck(): Promise<void>
  /** Counts an answer that stays open until the returned function is called. Throws `capacity_exhausted` or `server_busy`. */
  readonly streamOpened?: () => () => void
  /** Reserves weight for a body that the route reads itself. Throws `capacity_exhausted` or `server_busy`. */
  readonly reserve?: (bytes: number) => void
}

/** What is known of somebody who came in. */
export interface Entered {
  readonly principal: Principal
  readonly caller: Caller
}

export interface Call<P, Q, B> extends Visit, Entered {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** The version that the client decided on. */
  readonly ifMatch: number | undefined
  /** Of a request that came with an Idempotency-Key. */
  readonly claim?: Claim
}

/** What a body is to be, and what the handler then gets: bytes as they come, or what the schema makes of JSON. */
type BodySpec = z.ZodType | ByteContent
type BodyOf<B extends BodySpec> = B extends z.ZodType ? z.output<B> : AsyncIterable<Uint8Array>

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends BodySpec, A> {
  readonly method: Method
  /** With `{name}` for each of `params`. */
  readonly path: string
  readonly summary: string
  readonly params: P
  readonly query: Q
  /** Of POST, PUT and PATCH. Empty JSON is an empty object. */
  readonly body: B
  /** Request headers that the handler looks at, each with what it is for. */
  readonly headers?: Readonly<Record<string, string>>
  readonly answers: A
  /** Beyond those that every route can have. */
  readonly errors: readonly ErrorCode[]
  /** Whether the version is taken from If-Match; without a word, a request that has the header is refused. */
  readonly ifMatch?: 'optional' | 'required'
  /** Values in objects and lists that a body may have, where it is other than for most routes. */
  readonly maximumMembers?: number
  /** A link to a file is as good as a key: `link` in the query, for the `id` and the `path` that it was made for. */
  readonly takesFileLink?: boolean
  /** Doing it twice is doing it once, so a request whose server died may simply be made again. */
  readonly isRepeatable?: boolean
}

/** A request as the door has read it, before the row's schemas have seen it. */
export interface RawCall {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly text: string
  /** Of a route whose body is bytes; `text` is empty then. */
  readonly bytes: AsyncIterable<Uint8Array>
  readonly ifMatch: number | undefined
}

export interface Prepared {
  /** The body after its schema, for the comparison of repeated requests. */
  readonly body: unknown
  /** `claim`: of a request that came with an Idempotency-Key. */
  perform(claim?: Claim): Promise<Reply | Response>
}

export interface Route extends RouteSpec<z.ZodType, z.ZodType, BodySpec, Readonly<Record<number, Payload>>> {
  readonly authorization: Authorization
  /** Checks everything that was sent, and gives what is left to be done. `entered` is `null` for a public route. */
  prepare(raw: RawCall, visit: Visit, entered: Entered | null): Prepared
}

export const Nothing = z.strictObject({})
export type Nothing = z.output<typeof Nothing>

type Answers = Readonly<Record<number, Payload>>
type Wish<P extends z.ZodType, Q extends z.ZodType, B extends BodySpec, A> = Omit<RouteSpec<P, Q, B, A>, 'params' | 'query' | 'body'> & {
  readonly params?: P
  readonly query?: Q
  readonly body?: B
}

/** A row for those who have a key. */
export function route<
  const A extends Answers,
  P extends z.ZodType = typeof Nothing,
  Q extends z.ZodType = typeof Nothing,
  B extends BodySpec = typeof Nothing,
>(
  wish: Wish<P, Q, B, A> & {
    readonly authorization: Exclude<Authorization, 'public'>
    handle(call: Call<z.output<P>, z.output<Q>, BodyOf<B>>): Promise<ReplyOf<A>>
  },
): Route {
  const { handle, params, query, body, ...rest } = wish
  return {
    ...rest,
    ...{ params: params ?? Nothing, query: query ?? Nothing, body: body ?? Nothing },
    prepare(raw, visit, entered) {
      if (entered === null) throw new TypeError(`${rest.method} ${rest.path} was reached by somebody who did not come in`)
      const parsed = parse(params ?? Nothing, query ?? Nothing, body ?? Nothing, raw)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what was left out has the schema of its default
      const call = { ...visit, ...entered, ...parsed, ifMatch: raw.ifMatch } as Call<z.output<P>, z.output<Q>, BodyOf<B>>
      return { body: parsed.body, perform: async (claim) => replyOf(await handle(claim === undefined ? call : { ...call, claim })) }
    },
  }
}

/** A row for everybody. */
export function publicRoute<const A extends Answers>(
  wish: Omit<RouteSpec<z.ZodType, z.ZodType, z.ZodType, A>, 'params' | 'query' | 'body'> & {
    handle(visit: Visit): Promise<ReplyOf<A>>
  },
): Route {
  const { handle, ...rest } = wish
  return {
    ...rest,
    ...{ authorization: 'public', params: Nothing, query: Nothing, body: Nothing },
    prepare(raw, visit) {
      parse(Nothing, Nothing, Nothing, raw)
      return { body: {}, perform: async () => replyOf(await handle(visit)) }
    },
  }
}

function parse(params: z.ZodType, query: z.ZodType, body: BodySpec, raw: RawCall) {
  return {
    params: parsePath(params, raw.params),
    query: parseQuery(query, raw.query),
    body: body instanceof ByteContent ? raw.bytes : parseBody(body, raw.text),
  }
}

function replyOf(reply: { readonly status: PropertyKey; readonly body: unknown } | Response): Reply | Response {
  return reply instanceof Response ? reply : { ...reply, status: Number(reply.status) }
}

/** An answer with a JSON body; `events` when it can also be had as a stream. */
export function json<S extends z.ZodType>(name: string, schema: S, description: string, events: string | null = null): Payload<S> {
  return { description, name, schema, events }
}

/** An answer that is bytes of this kind, sent as they come. */
export function bytes(mediaType: string, description: string): Payload<ByteContent> {
  return { description, name: null, schema: new ByteContent(mediaType), events: null }
}

/** An answer that is a stream of events and nothing else. */
export function eventsOnly(description: string, events: string): Payload<null> {
  return { description, name: null, schema: null, events }
}

export function empty(description: string): Payload<null> {
  return { description, name: null, schema: null, events: null }
}
