/**
 * The REST door: host and origin check, request id, key, body limit, routes, problem documents.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { Authenticate } from '../../access/authenticate.ts'
import { checkOrigin } from '../../access/listen-address.ts'
import type { CheckHost } from '../../access/listen-address.ts'
import { randomId } from '../../home/random-id.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { Log } from '../../telemetry/log.ts'
import { execRoute } from './exec-route.ts'
import { problemResponse } from './problems.ts'

const BODY_LIMIT_BYTES = 2 * 1024 * 1024

export interface RestEnvironment {
  readonly Variables: { requestId: string }
}

export interface RestNeeds {
  readonly sessions: Sessions
  readonly authenticate: Authenticate
  readonly checkHost: CheckHost
  readonly health: () => { readonly backend: string; readonly version: string }
  readonly log: Log
}

export function restApp({ sessions, authenticate, checkHost, health, log }: RestNeeds): Hono<RestEnvironment> {
  const app = new Hono<RestEnvironment>()

  app.use(async (c, next) => {
    c.set('requestId', randomId('req'))
    checkHost(c.req.header('host'))
    checkOrigin(c.req.header('origin'), c.req.header('host'))
    await next()
  })
  app.use('/v1/*', async (c, next) => {
    authenticate({ authorization: c.req.header('authorization'), apiKey: c.req.header('x-api-key') })
    await next()
  })
  app.use('/v1/*', bodyLimit({ maxSize: BODY_LIMIT_BYTES, onError: refuseLargeBody }))

  app.get('/healthz', (c) => c.json({ status: 'ok', ...health() }))
  app.post('/v1/exec', execRoute(sessions))

  app.notFound((c) =>
    problemResponse(
      new HoldfastError('not_found', `there is nothing at ${c.req.method} ${c.req.path.slice(0, 255)}`),
      c.var.requestId,
      log,
    ),
  )
  app.onError((error, c) => problemResponse(error, c.var.requestId, log))
  return app
}

function refuseLargeBody(): never {
  throw new HoldfastError('payload_too_large', `the body is larger than ${BODY_LIMIT_BYTES} bytes (2 MiB)`, {
    limit_bytes: BODY_LIMIT_BYTES,
  })
}
