/** What is told of each request: to the log, to the metrics, to the trace. */
import { HoldfastError } from '@holdfast/protocol'
import { Hono } from 'hono'
import { beforeEach, expect, test } from 'vitest'
import { createLog } from '../../telemetry/log.ts'
import type { LogLevel } from '../../telemetry/log.ts'
import { unobserved } from '../../telemetry/observations.ts'
import { untraced } from '../../telemetry/tracing.ts'
import type { RemoteSpan, Tracing } from '../../telemetry/tracing.ts'
import { observedRequests } from './request-observation.ts'
import type { RequestFacts } from './request-observation.ts'

let lines: Record<string, unknown>[]
let answered: unknown[]
let parents: (RemoteSpan | null)[]

beforeEach(() => {
  ;[lines, answered, parents] = [[], [], []]
})

function door(level: LogLevel) {
  const log = createLog({ level, format: 'json' }, (line) => lines.push(JSON.parse(line) as Record<string, unknown>))
  const tracing: Tracing = {
    ...untraced,
    request(_method, parent, work) {
      parents.push(parent)
      return work({ traceId: 'the-trace', answered: (...values) => void answered.push(values) })
    },
  }
  const requestAnswered = (...values: readonly unknown[]) => void answered.push(values)
  const app = new Hono<{ Variables: { requestId: string; facts: RequestFacts } }>()
  app.use(observedRequests({ ...unobserved, requestAnswered, tracing }, log))
  app.use(async (c, next) => {
    if (c.req.header('host') === 'evil') throw new HoldfastError('host_refused', 'not here')
    await next()
  })
  app.get('/things/:id', (c) => {
    c.var.facts.route = '/things/{id}'
    c.var.facts.keyId = 'key_1'
    if (c.req.param('id') === 'broken') throw new HoldfastError('internal', 'a bug with secret words')
    return c.text('here')
  })
  app.onError((_error, c) => c.text('failed', c.req.header('host') === 'evil' ? 403 : 500))
  return app
}

test('the log has the template, the status, the time and the key’s id, and nothing of what was asked', async () => {
  await door('debug').request('/things/secret-id?token=secret', { headers: { authorization: 'Bearer secret', cookie: 'secret' } })
  expect(lines).toEqual([
    {
      ...{
        time: expect.any(String),
        level: 'debug',
        event: 'request-answered',
        request_id: expect.stringMatching(/^req_/),
        method: 'GET',
        route: '/things/{id}',
      },
      ...{ status: 200, duration_ms: expect.any(Number), key: 'key_1', trace_id: 'the-trace' },
    },
  ])
  expect(JSON.stringify([lines, answered])).not.toContain('secret')
  expect(answered).toEqual([
    ['/things/{id}', 200],
    ['/things/{id}', 'GET', 200, expect.any(Number)],
  ])
})

test('only failures of the server are in the log of an ordinary level', async () => {
  const app = door('info')
  await app.request('/things/fine')
  await app.request('/nothing')
  await app.request('/things/broken')
  expect(lines).toMatchObject([{ level: 'info', event: 'request-answered', status: 500, route: '/things/{id}' }])
  expect(JSON.stringify(lines)).not.toContain('secret')
})

test('what is refused before there is a route is counted too', async () => {
  await door('debug').request('/things/fine', { headers: { host: 'evil' } })
  expect(answered.at(-1)).toEqual([null, 'GET', 403, expect.any(Number)])
  expect(lines).toMatchObject([{ status: 403, route: null, key: null }])
})

test('the caller’s trace is gone on with', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await door('info').request('/things/fine', { headers: { traceparent } })
  await door('info').request('/things/fine', { headers: { traceparent: 'nonsense' } })
  expect(parents).toEqual([{ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', flags: 1 }, null])
})
