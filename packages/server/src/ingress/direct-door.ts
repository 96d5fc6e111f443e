/**
 * A door on the connection itself, for one address: what it is asked in a tight loop must not cost more than it has to.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The same checks as those of the REST door, in the same order: a request id, host and origin, the key, how often its holder asks. What
 * is refused is refused with the same documents.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { HoldfastError } from '@holdfast/protocol'
import { checkOrigin } from '../access/listen-address.ts'
import { randomId } from '../home/random-id.ts'
import type { JsonText } from '../mcp/share/large-json.ts'
import { unobserved } from '../telemetry/observations.ts'
import { jsonBodyOf } from './direct-body.ts'
import type { JsonBody, Reserve } from './direct-body.ts'
import { countedStream, ownerOf, workBudget } from './pipeline/work-budget.ts'
import { cors } from './rest/cors.ts'
import type { DoorNeeds } from './rest/door.ts'
import { entering } from './rest/entering.ts'
import { loggedProblem, problemReply } from './rest/problems.ts'
import { requestObservation } from './rest/request-observation.ts'
import type { RequestFacts } from './rest/request-observation.ts'
import type { Entered, Visit } from './rest/route.ts'
import { unlessLeft } from './rest/unless-left.ts'
import { sendStream } from './send-stream.ts'

/** An answer that is there as a whole. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: JsonText
}

/** A `Response`: one that goes on. */
export type DirectAnswer = WholeAnswer | Response

/** One that came in. */
export interface DirectCall<M extends string> extends Visit, Entered {
  readonly method: M
  /** As it was sent, from the path on. */
  readonly url: string
  readonly headers: IncomingMessage['headers']
  /** Reserves its bytes. Throws `payload_too_large`, `request_stalled`, `request_cancelled`, and what `reserve` does. */
  jsonBody(limitBytes: number): Promise<JsonBody>
  readonly reserve: Reserve
}

export type DirectEntrance = Omit<DoorNeeds, 'routes' | 'idempotency'>

export interface DirectDoorNeeds<M extends string> extends DirectEntrance {
  /** The template of its address, for what is counted. */
  readonly path: string
  readonly methods: readonly M[]
  handle(call: DirectCall<M>): Promise<DirectAnswer>
}

export type DirectDoor = (incoming: IncomingMessage, outgoing: ServerResponse) => void

export function directDoor<M extends string>(needs: DirectDoorNeeds<M>): DirectDoor {
  const { path, methods, handle, checkHost, allowedOrigins, log, observer = unobserved, budget = workBudget() } = needs
  const { enter, comeIn } = entering(needs)
  const { headersFor, preflight } = cors(allowedOrigins)
  const observe = requestObservation(observer, log)
  const allow = methods.join(', ')

  async function answerTo(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    facts: RequestFacts,
    signal: AbortSignal,
  ): Promise<DirectAnswer> {
    const { method: said = '', url = '/', headers, socket } = incoming
    const { requestId } = facts
    const header = (name: string) => textOf(headers[name])
    checkHost(headers.host)
    checkOrigin(headers.origin, headers.host, allowedOrigins)
    const preflown = preflight(said, header)
    if (preflown !== null) return { status: 204, headers: preflown, text: '' }
    facts.route = path
    const knock = { header, peer: socket.remoteAddress, facts }
    const { principal, caller } = await comeIn(knock)
    const method = methods.find((known) => known === said)
    if (method === undefined) throw new HoldfastError('method_not_allowed', `${path} has no method ${said.slice(0, 32)}`, { allow })
    const work = budget.begin(ownerOf(principal))
    // Until the client has the answer, which may be as large as the question.
    if (outgoing.closed) work.end()
    else outgoing.once('close', () => work.end())
    const reserve = (bytes: number) => work.reserve(bytes)
    return handle({
      ...{ requestId, signal, header, method, url, headers, principal, caller, reserve },
      streamOpened: () => countedStream(work, observer.streamOpened),
      problemOf: (error) => loggedProblem(error, requestId, log),
      recheck: async () => void (await enter(knock)),
      jsonBody: (limitBytes) => jsonBodyOf(incoming, limitBytes, reserve),
    })
  }

  function refused(error: unknown, { requestId }: RequestFacts): WholeAnswer {
    const { status, body, headers, code } = problemReply(error, requestId, log)
    const more = code === 'method_not_allowed' ? { allow } : {}
    return { status, headers: { 'cache-control': 'no-store', ...headers, ...more, 'x-request-id': requestId }, text: JSON.stringify(body) }
  }

  function send(answer: DirectAnswer, incoming: IncomingMessage, outgoing: ServerResponse): void {
    const added = headersFor(incoming.headers.origin)
    if (answer instanceof Response) {
      for (const [name, value] of Object.entries(added)) answer.headers.append(name, value)
      return sendStream(answer, outgoing)
    }
    const { status, headers, text } = answer
    const bytes = typeof text === 'string' ? Buffer.byteLength(text) : text.length
    outgoing.writeHead(status, { ...headers, ...(status === 204 ? {} : { ...added, 'content-length': bytes }) })
    if (typeof text === 'string') outgoing.end(text)
    else {
      for (const piece of text.pieces) outgoing.write(piece)
      outgoing.end()
    }
  }

  return (incoming, outgoing) => {
    const facts: RequestFacts = { route: null, keyId: null, requestId: randomId('req') }
    const left = new AbortController()
    outgoing.once('close', () => void (outgoing.writableFinished || left.abort()))
    const answered = async () => {
      const answer = await answerTo(incoming, outgoing, facts, left.signal).catch((error: unknown) =>
        refused(unlessLeft(error, left.signal), facts),
      )
      send(answer, incoming, outgoing)
      return answer.status
    }
    observe(incoming.method ?? '', (name) => textOf(incoming.headers[name]), facts, answered).catch(() => outgoing.destroy())
  }
}

function textOf(value: string | string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value
}
