/**
 * The REST door: made from the route table, and from nothing else.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * For every request, in this order: a request id, the check of host and origin, the key (of an address with too many failures not even
 * looked at), how often its holder asks, the right where it does not depend on a session, the path and the query, the body up to its limit,
 * If-Match, the Idempotency-Key; then the handler. What is public is not counted: it is answered from memory.
 */
import { HoldfastError } from '@holdfast/protocol'
import { Hono } from 'hono'
import type { Context } from 'hono'
import { authorize } from '../../access/authorize.ts'
import type { FileLinks } from '../../access/file-links.ts'
import { checkOrigin } from '../../access/listen-address.ts'
import type { CheckHost } from '../../access/listen-address.ts'
import { ADMIN_VERBS } from '../../access/roles.ts'
import { encoded, jsonText, partsOf, wholeOf } from '../../mcp/share/large-json.ts'
import type { Log } from '../../telemetry/log.ts'
import { unobserved } from '../../telemetry/observations.ts'
import { countedStream, ownerOf, workBudget } from '../pipeline/work-budget.ts'
import type { Work, WorkBudget } from '../pipeline/work-budget.ts'
import { asStream, asWhole } from '../send-stream.ts'
import { ByteContent } from './byte-content.ts'
import { cors } from './cors.ts'
import { entering } from './entering.ts'
import type { EnteringNeeds, Knock } from './entering.ts'
import { wantsEvents } from './event-stream.ts'
import { isBrowser } from './front-page.ts'
import type { FrontPage } from './front-page.ts'
import type { Claim, Idempotency } from './idempotency.ts'
import { loggedProblem, problemReply } from './problems.ts'
import { byteBody, NO_BYTES, readBody } from './request-body.ts'
import { observedRequests } from './request-observation.ts'
import type { RequestFacts, RequestsObserver } from './request-observation.ts'
import type { Entered, Prepared, Reply, Route, Visit } from './route.ts'
import { checkRoutes } from './route-table.ts'
import { unlessLeft } from './unless-left.ts'
import { ifMatchOf } from './versions.ts'

/** Schemas look at every member, which takes far longer than parsing it. */
const MAXIMUM_MEMBERS = 10_000
const QUERY = /^[^?#]*\?([^#]*)/

export interface DoorNeeds extends EnteringNeeds {
  readonly routes: readonly Route[]
  readonly checkHost: CheckHost
  /** Pages of these may use the API from a browser. */
  readonly allowedOrigins: ReadonlySet<string>
  readonly idempotency: Idempotency
  /** Shared by all HTTP services. */
  readonly budget?: WorkBudget
  readonly log: Log
  readonly observer?: RequestsObserver
  /** Opens links to files, for routes that take them. Throws `unauthorized`. */
  readonly fileLinks?: Pick<FileLinks, 'open'>
  /** What a browser gets at `/`; left out, what everybody gets. */
  readonly frontPage?: FrontPage
}

export interface DoorEnvironment {
  readonly Variables: { requestId: string; facts: RequestFacts }
  /** `peer`: the address at the other end of the connection. */
  readonly Bindings: { readonly peer?: string | undefined }
}

/** Throws when a row of the table breaks its rules. */
export function restDoor(needs: DoorNeeds): Hono<DoorEnvironment> {
  const { routes, checkHost, allowedOrigins, idempotency, log, observer = unobserved, budget = workBudget() } = needs
  const { enter, comeIn } = entering(needs)
  checkRoutes(routes)
  const { headersFor, preflight } = cors(allowedOrigins)
  const app = new Hono<DoorEnvironment>()

  async function enterFor(
    c: Context<DoorEnvironment>,
    { authorization, takesFileLink }: Route,
    come: typeof enter,
  ): Promise<Entered | null> {
    if (authorization === 'public') return null
    const token = takesFileLink === true ? queryOf(c.req.url).get('link') : null
    if (token !== null && needs.fileLinks !== undefined) return enterByLink(c, needs.fileLinks, token, come === comeIn)
    const entered = await come(knockOf(c))
    const verb = ADMIN_VERBS.find((admin) => admin === authorization)
    if (verb !== undefined) authorize(entered.principal, verb)
    return entered
  }

  async function enterByLink(c: Context<DoorEnvironment>, links: Pick<FileLinks, 'open'>, token: string, isCounted: boolean) {
    const principal = await links.open(token, c.req.param('id') ?? '', queryOf(c.req.url).get('path') ?? '')
    c.var.facts.keyId = principal.keyId
    if (isCounted) needs.admit(principal, token)
    return { principal, caller: await needs.callerOf(principal) }
  }

  async function replyTo(c: Context<DoorEnvironment>, route: Route): Promise<Response> {
    c.var.facts.route = route.path
    const entered = await enterFor(c, route, comeIn)
    const work = entered === null ? null : budget.begin(ownerOf(entered.principal))
    try {
      return await replyWith(c, route, entered, work)
    } finally {
      work?.end()
    }
  }

  async function replyWith(c: Context<DoorEnvironment>, route: Route, entered: Entered | null, work: Work | null): Promise<Response> {
    const { requestId } = c.var
    const reserve = (bytes: number) => work?.reserve(bytes)
    const visit: Visit = {
      requestId,
      signal: c.req.raw.signal,
      isHead: c.req.method === 'HEAD',
      header: (name) => c.req.header(name),
      problemOf: (error) => loggedProblem(error, requestId, log),
      async recheck() {
        await enterFor(c, route, enter)
      },
      streamOpened: () => countedStream(work, observer.streamOpened),
      reserve,
    }
    const isBytes = route.body instanceof ByteContent
    const named = { params: c.req.param(), query: queryOf(c.req.url) }
    const hasText = !isBytes && route.method !== 'GET'
    const sent = {
      text: hasText ? await readBody(c.req.raw, route.maximumMembers ?? MAXIMUM_MEMBERS, reserve) : '',
      bytes: isBytes ? byteBody(c.req.raw) : NO_BYTES,
    }
    const ifMatch = ifMatchOf(route, c.req.header('if-match'))
    const prepared = route.prepare({ ...named, ...sent, ifMatch }, visit, entered)
    // Not kept until the answer: the parsed body is.
    sent.text = ''
    const key = idempotencyKeyOf(route, c.req.header('idempotency-key'))
    if (key === undefined || entered === null) return responseOf(await performed(prepared, visit), requestId, work)
    if (wantsEvents(visit))
      throw new HoldfastError('invalid_request', 'Idempotency-Key: a stream cannot be repeated; ask for JSON, or leave it out')
    const { principal } = entered
    const request = {
      key,
      tenantId: principal.tenantId,
      scope: [principal.keyId, principal.subject, route.method, route.path],
      content: [named.params, [...named.query], ifMatch ?? null, prepared.body],
      isRepeatable: route.isRepeatable === true,
    }
    const { reply, isRepeated } = await idempotency.once(request, (claim) => settled(prepared, visit, claim))
    return responseOf(isRepeated ? { ...reply, headers: { ...reply.headers, 'idempotency-replayed': 'true' } } : reply, requestId, work)
  }

  /** Failures too are answers that can be repeated. */
  async function settled(prepared: Prepared, visit: Visit, claim: Claim) {
    try {
      const reply = await performed(prepared, visit, claim)
      if (reply instanceof Response) throw new TypeError('a stream cannot be repeated')
      return reply
    } catch (error) {
      return problemReply(error, visit.requestId, log)
    }
  }

  app.use(observedRequests(observer, log))
  app.use(async (c, next) => {
    checkHost(c.req.header('host'))
    const origin = c.req.header('origin')
    checkOrigin(origin, c.req.header('host'), allowedOrigins)
    const preflown = preflight(c.req.method, (name) => c.req.header(name))
    if (preflown !== null) return new Response(null, { status: 204, headers: preflown })
    await next()
    for (const [name, value] of Object.entries(headersFor(origin))) c.res.headers.append(name, value)
  })
  for (const route of routes)
    app.on(route.method, honoPath(route.path), async (c) => {
      const response = await replyTo(c, route)
      // Only its headers are sent; what was opened for its body ends.
      if (c.req.method === 'HEAD') await response.body?.cancel()
      return response
    })
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    const allow = ofPath.map(({ method }) => method).join(', ')
    app.all(honoPath(path), async (c) => {
      c.var.facts.route = path
      if (ofPath.every(({ authorization }) => authorization !== 'public')) await comeIn(knockOf(c))
      const { body, headers, status } = problemReply(
        new HoldfastError('method_not_allowed', `${path} has no method ${c.req.method.slice(0, 32)}`, { allow }),
        c.var.requestId,
        log,
      )
      return responseOf({ status, body, headers: { ...headers, allow } }, c.var.requestId)
    })
  }
  // Answered and not thrown: what is thrown here passes by those who still have something to add to the answer.
  app.notFound((c) => nothingAt(c).catch((error: unknown) => problemTo(error, c)))
  app.onError(problemTo)
  return app

  async function nothingAt(c: Context<DoorEnvironment>): Promise<Response> {
    const isFront = c.req.path === '/' && ['GET', 'HEAD'].includes(c.req.method)
    if (isFront && needs.frontPage !== undefined && isBrowser(c.req.header('accept'))) return needs.frontPage()
    // Which addresses there are is nobody's business without a key.
    if (c.req.path.startsWith('/v1/')) await comeIn(knockOf(c))
    throw new HoldfastError('not_found', `there is nothing at ${c.req.method} ${c.req.path.slice(0, 255)}`)
  }

  function problemTo(error: unknown, { var: { requestId } }: Context<DoorEnvironment>): Response {
    return responseOf(problemReply(error, requestId, log), requestId)
  }
}

/** An answer above this is held in memory until its client has read it, and counts for so long. */
const LARGE_ANSWER_BYTES = 1024 * 1024
const CHUNK_BYTES = 65_536

/** Throws `capacity_exhausted` or `server_busy`. */
function heldBody(pieces: readonly Buffer[], bytes: number, work: Work): ReadableStream<Uint8Array> {
  work.reserve(bytes)
  const release = work.hold()
  const chunks = chunksOf(pieces)
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = chunks.next()
        if (done !== true) return controller.enqueue(value)
        controller.close()
        release()
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  )
}

function* chunksOf(pieces: readonly Buffer[]): Generator<Buffer, undefined> {
  for (const piece of pieces) for (let at = 0; at < piece.length; at += CHUNK_BYTES) yield piece.subarray(at, at + CHUNK_BYTES)
}

async function performed({ perform }: Prepared, { signal }: Visit, claim?: Claim): Promise<Reply | Response> {
  try {
    return await perform(claim)
  } catch (error) {
    throw unlessLeft(error, signal)
  }
}

/** A header that would not be looked at is refused where somebody might count on it: bytes are not kept to be compared. */
function idempotencyKeyOf({ method, body }: Route, header: string | undefined): string | undefined {
  if (header !== undefined && body instanceof ByteContent)
    throw new HoldfastError('invalid_request', 'Idempotency-Key: a body of bytes cannot be compared with an earlier one; leave it out')
  return method === 'POST' ? header : undefined
}

function responseOf(reply: Reply | Response, requestId: string, work: Work | null = null): Response {
  if (reply instanceof Response) return reply
  const { status, body, headers = {} } = reply
  if (body instanceof ReadableStream)
    return new Response(body, {
      status,
      headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers, 'x-request-id': requestId },
    })
  const text = body === null ? null : jsonText(body)
  const type: Record<string, string> = text === null ? {} : { 'content-type': 'application/json' }
  if (text !== null && work !== null && text.length > LARGE_ANSWER_BYTES) {
    const pieces = encoded(partsOf(text))
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    const sized = { ...type, 'cache-control': 'no-store', ...headers, 'content-length': `${bytes}`, 'x-request-id': requestId }
    return asStream(new Response(heldBody(pieces, bytes, work), { status, headers: sized }))
  }
  const whole = text === null ? null : wholeOf(text)
  return asWhole(new Response(whole, { status, headers: { ...type, 'cache-control': 'no-store', ...headers, 'x-request-id': requestId } }))
}

/** Taking the whole address apart costs as much as the rest of a small answer. */
function queryOf(url: string): URLSearchParams {
  return new URLSearchParams(QUERY.exec(url)?.[1] ?? '')
}

function knockOf(c: Context<DoorEnvironment>): Knock {
  // What is answered without a connection has no environment.
  const { peer }: { readonly peer?: string | undefined } = c.env ?? {}
  return { header: (name) => c.req.header(name), peer, facts: c.var.facts }
}

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}
