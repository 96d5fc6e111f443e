/**
 * One row of the socket table: an address that is spoken to over a WebSocket, who may, and what is said there.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The door for upgrades, the answers to those who come without one, the OpenAPI document and the walk of all rows in the tests are made
 * from these rows and from nothing else.
 */
import type { ErrorCode, HoldfastError, ProblemDocument } from '@holdfast/protocol'
import type { z } from 'zod'
import type { WebSocket } from 'ws'
import type { SessionVerb } from '../../sessions/caller.ts'
import { parsePath, parseQuery } from '../rest/parse.ts'
import type { Entered } from '../rest/route.ts'

/** What is known of one who is let in, before the connection is turned into a socket. */
export interface Knock extends Entered {
  /** Fires when the client leaves before its socket is open. */
  readonly signal: AbortSignal
  /** The document of a failure that has to be told over the socket; what is a bug is logged. */
  problemOf(error: unknown): ProblemDocument
}

export interface SocketCall<P, Q> extends Knock {
  readonly params: P
  readonly query: Q
}

/** What a row has made ready for a socket. Either `begin` or `abandon` is called, once. */
export interface Conversation {
  /** The socket is open. `seen` is to be called whenever the client has taken something. */
  begin(socket: WebSocket, seen: () => void): void
  /** There will be no socket. */
  abandon(): void
  /** Whoever is there may not stay: says why and closes. */
  dismiss(reason: HoldfastError): void
}

export interface SocketRow {
  /** With `{name}` for each of `params`; begins with that of a session. */
  readonly path: string
  readonly summary: string
  /** On the session in the path. */
  readonly authorization: SessionVerb
  /** The subprotocol that is spoken. */
  readonly protocol: string
  readonly params: z.ZodType
  readonly query: z.ZodType
  /** Beyond those that every row can have. */
  readonly errors: readonly ErrorCode[]
  /** Everything that may be refused, while it can still be answered as an HTTP request is. */
  prepare(raw: { readonly params: Readonly<Record<string, string>>; readonly query: URLSearchParams }, knock: Knock): Promise<Conversation>
}

export function socketRow<P extends z.ZodType, Q extends z.ZodType>(
  wish: Omit<SocketRow, 'params' | 'query' | 'prepare'> & {
    readonly params: P
    readonly query: Q
    open(call: SocketCall<z.output<P>, z.output<Q>>): Promise<Conversation>
  },
): SocketRow {
  const { open, ...rest } = wish
  return {
    ...rest,
    prepare: async (raw, knock) => open({ ...knock, params: parsePath(rest.params, raw.params), query: parseQuery(rest.query, raw.query) }),
  }
}
