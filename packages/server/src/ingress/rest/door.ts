/**
 * The REST door: made from the route table, and from nothing else.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * For every request, in this order: a request id, the check of host and origin, the key, the right where it does not depend on a session,
 * the path and the query, the body up to its limit, If-Match, the Idempotency-Key; then the handler.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { Hono } from 'hono'
import type { Context } from 'hono'
import type { AuthenticateRequest } from '../../access/authenticate.ts'
import { authorize } from '../../access/authorize.ts'
import { checkOrigin } from '../../access/listen-address.ts'
import type { CheckHost } from '../../access/listen-address.ts'
import type { Principal } from '../../access/principal.ts'
import { ADMIN_VERBS } from '../../access/roles.ts'
import { randomId } from '../../home/random-id.ts'
import type { Caller } from '../../sessions/caller.ts'
import type { Log } from '../../telemetry/log.ts'
import { wantsEvents } from './event-stream.ts'
import type { Idempotency } from './idempotency.ts'
import { loggedProblem, problemReply } from './problems.ts'
import { readBody } from './request-body.ts'
import type { Entered, Prepared, Reply, Route, Visit } from './route.ts'
import { checkRoutes } from './route-table.ts'
import { ifMatchOf } from './versions.ts'

export interface DoorNeeds {
  readonly routes: readonly Route[]
  readonly authenticate: AuthenticateRequest
  callerOf(principal: Principal): Promise<Caller>
  readonly checkHost: CheckHost
  readonly idempotency: Idempotency
  readonly log: Log
}

interface DoorEnvironment {
  readonly Variables: { requestId: string }
}

/** Throws when a row of the table breaks its rules. */
export function restDoor({ routes, authenticate, callerOf, checkHost, idempotency, log }: DoorNeeds): Hono<DoorEnvironment> {
  checkRoutes(routes)
  const app = new Hono<DoorEnvironment>()

  async function enter(c: Context<DoorEnvironment>): Promise<Entered> {
    const principal = await authenticate({
      authorization: c.req.header('authorization'),
      apiKey: c.req.header('x-api-key'),
      onBehalfOf: c.req.header('x-holdfast-on-behalf-of'),
      onBehalfOfGroups: c.req.header('x-holdfast-groups')?.split(/ *, */),
      tenant: c.req.header('x-holdfast-tenant'),
    })
    return { principal, caller: await callerOf(principal) }
  }

  async function enterFor(c: Context<DoorEnvironment>, { authorization }: Route): Promise<Entered | null> {
    if (authorization === 'public') return null
    const entered = await enter(c)
    const verb = ADMIN_VERBS.find((admin) => admin === authorization)
    if (verb !== undefined) authorize(entered.principal, verb)
    return entered
  }

  async function replyTo(c: Context<DoorEnvironment>, route: Route): Promise<Response> {
    const { requestId } = c.var
    const entered = await enterFor(c, route)
    const visit: Visit = {
      requestId,
      signal: c.req.raw.signal,
      header: (name) => c.req.header(name),
      problemOf: (error) => loggedProblem(error, requestId, log),
      async recheck() {
        await enterFor(c, route)
      },
    }
    const raw = {
      params: c.req.param(),
      query: new URL(c.req.url).searchParams,
      text: route.method === 'GET' ? '' : await readBody(c.req.raw),
      ifMatch: ifMatchOf(route, c.req.header('if-match')),
    }
    const prepared = route.prepare(raw, visit, entered)
    const key = route.method === 'POST' ? c.req.header('idempotency-key') : undefined
    if (key === undefined || entered === null) return responseOf(await unlessLeft(prepared.perform, visit), requestId)
    if (wantsEvents(visit))
      throw new HoldfastError('invalid_request', 'Idempotency-Key: a stream cannot be repeated; ask for JSON, or leave it out')
    const { principal } = entered
    const request = {
      key,
      tenantId: principal.tenantId,
      scope: [principal.keyId, principal.subject, route.method, route.path],
      content: [raw.params, [...raw.query], raw.ifMatch ?? null, prepared.body],
      isRepeatable: route.isRepeatable === true,
    }
    const { reply, isRepeated } = await idempotency.once(request, () => settled(prepared, visit))
    return responseOf(isRepeated ? { ...reply, headers: { ...reply.headers, 'idempotency-replayed': 'true' } } : reply, requestId)
  }

  /** Failures too are answers that can be repeated. */
  async function settled(prepared: Prepared, visit: Visit) {
    try {
      const reply = await unlessLeft(prepared.perform, visit)
      if (reply instanceof Response) throw new TypeError('a stream cannot be repeated')
      return reply
    } catch (error) {
      return problemReply(error, visit.requestId, log)
    }
  }

  app.use(async (c, next) => {
    c.set('requestId', randomId('req'))
    checkHost(c.req.header('host'))
    checkOrigin(c.req.header('origin'), c.req.header('host'))
    await next()
  })
  for (const route of routes) app.on(route.method, honoPath(route.path), (c) => replyTo(c, route))
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    const allow = ofPath.map(({ method }) => method).join(', ')
    app.all(honoPath(path), async (c) => {
      if (ofPath.every(({ authorization }) => authorization !== 'public')) await enter(c)
      const { body, headers, status } = problemReply(
        new HoldfastError('method_not_allowed', `${path} has no method ${c.req.method.slice(0, 32)}`, { allow }),
        c.var.requestId,
        log,
      )
      return responseOf({ status, body, headers: { ...headers, allow } }, c.var.requestId)
    })
  }
  app.notFound(async (c) => {
    // Which addresses there are is nobody's business without a key.
    if (c.req.path.startsWith('/v1/')) await enter(c)
    throw new HoldfastError('not_found', `there is nothing at ${c.req.method} ${c.req.path.slice(0, 255)}`)
  })
  app.onError((error, c) => responseOf(problemReply(error, c.var.requestId, log), c.var.requestId))
  return app
}

/** What fails because the client has left is no bug. */
async function unlessLeft(perform: Prepared['perform'], { signal }: Visit): Promise<Reply | Response> {
  try {
    return await perform()
  } catch (error) {
    if (!signal.aborted || isHoldfastError(error)) throw error
    throw new HoldfastError('request_cancelled', 'the caller left before the answer', {}, { cause: error })
  }
}

function responseOf(reply: Reply | Response, requestId: string): Response {
  if (reply instanceof Response) return reply
  const { status, body, headers = {} } = reply
  const text = body === null ? null : JSON.stringify(body)
  const type: Record<string, string> = text === null ? {} : { 'content-type': 'application/json' }
  return new Response(text, { status, headers: { ...type, 'cache-control': 'no-store', ...headers, 'x-request-id': requestId } })
}

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}
