/** Spans, as a collector gets them: whose they are, what is in them, and what a collector that is away costs. */
import { readFileSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tracedStore } from '../store/observed-store.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import { openCollector } from './contract/collector.ts'
import type { CollectedSpan, Collector } from './contract/collector.ts'
import { jsonLog } from './log.ts'
import { otlpTracing } from './otlp-tracing.ts'
import { remoteSpanOf } from './tracing.ts'
import type { Tracing } from './tracing.ts'

let collector: Collector
let lines: string[]
let tracing: Tracing

beforeEach(async () => {
  collector = await openCollector()
  lines = []
  tracing = open(collector.url)
})
afterEach(async () => {
  await tracing.close()
  await collector.close()
})

const open = (url: string) =>
  otlpTracing({ url, serverId: 'srv_1', release: '1.2.3', log: jsonLog('debug', (line) => lines.push(line)), gatherMs: 20, sendMs: 200 })
const named = (name: string): CollectedSpan => {
  const found = collector.spans.filter((span) => span.name === name)
  expect(found, name).toHaveLength(1)
  return found[0] as CollectedSpan
}

test('steps stand inside the request that asked for them, and say what they are and nothing else', async () => {
  const failed = tracing.request('POST', null, async ({ traceId, answered }) => {
    expect(traceId).toMatch(/^[0-9a-f]{32}$/)
    await tracing.step('session.get-or-create', () => tracing.step('store.write', async () => undefined))
    answered('/v1/exec', 503)
    await tracing.step('execution.start', () =>
      Promise.reject(new HoldfastError('command_not_started', 'the program /secret is not there')),
    )
  })
  await expect(failed).rejects.toThrow('/secret')
  await tracing.close()
  expect(collector.paths).toEqual(['/v1/traces'])

  const request = named('POST /v1/exec')
  expect(request.parentSpanId ?? '').toBe('')
  expect(request.attributes).toEqual({
    ...{ 'http.request.method': 'POST', 'http.route': '/v1/exec', 'http.response.status_code': 503 },
  })
  expect(request.status.code).toBe(2)
  const getting = named('session.get-or-create')
  expect(getting).toMatchObject({ traceId: request.traceId, parentSpanId: request.spanId, attributes: {} })
  expect(named('store.write')).toMatchObject({ traceId: request.traceId, parentSpanId: getting.spanId })
  expect(named('execution.start')).toMatchObject({ parentSpanId: request.spanId, attributes: { 'error.type': 'command_not_started' } })
  expect(collector.bodies.join('')).not.toContain('/secret')
})

test('a trace that somebody else began goes on, unless it is not recorded there', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const answer = (flags: string) =>
    tracing.request('GET', remoteSpanOf(`00-${traceId}-b7ad6b7169203331-${flags}`), async ({ answered }) => answered('/v1/scopes', 200))
  await answer('00')
  await answer('01')
  await tracing.close()
  expect(named('GET /v1/scopes')).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' })
})

test('an address without a route is named by its method alone', async () => {
  await tracing.request('GET', null, async ({ answered }) => answered(null, 404))
  await tracing.close()
  expect(named('GET').attributes).toEqual({ 'http.request.method': 'GET', 'http.response.status_code': 404 })
})

test('work that no request waits for has no spans, also when a request set it off', async () => {
  await tracing.step('store.read', async () => undefined)
  const later = Promise.withResolvers<void>()
  const done = await tracing.request('GET', null, async ({ answered }) => {
    answered('/healthz', 200)
    return { promise: later.promise.then(() => tracing.step('store.write', async () => undefined)) }
  })
  later.resolve()
  await done.promise
  await tracing.close()
  expect(collector.spans.map(({ name }) => name)).toEqual(['GET /healthz'])
})

test('writers who share one commit have each their own span, and so has what follows their commits', async () => {
  const store = tracedStore(await openSqliteStore(':memory:'), tracing)
  await store.write((transaction) => transaction.run('CREATE TABLE things (id INTEGER)'))
  const routes = ['/a', '/b', '/c']
  await Promise.all(
    routes.map((route, index) =>
      tracing.request('PUT', null, async ({ answered }) => {
        const followed = Promise.withResolvers<void>()
        await tracing.step('session.get-or-create', () =>
          store.write(async (transaction) => {
            await transaction.run('INSERT INTO things VALUES (?)', index)
            transaction.afterCommit(() => void tracing.step('sandbox.make', async () => undefined).then(followed.resolve))
          }),
        )
        await followed.promise
        answered(route, 200)
      }),
    ),
  )
  await store.close()
  await tracing.close()
  for (const route of routes) {
    const request = named(`PUT ${route}`)
    const own = collector.spans.filter(({ traceId }) => traceId === request.traceId).map(({ name }) => name)
    expect(own.toSorted()).toEqual([`PUT ${route}`, 'sandbox.make', 'session.get-or-create', 'store.write'].toSorted())
  }
})

test('a step whose asker is over belongs to the nearest that is not', async () => {
  await tracing.request('POST', null, async ({ answered }) => {
    const begin = Promise.withResolvers<void>()
    const made: Promise<void>[] = []
    await tracing.step('session.get-or-create', async () => {
      made.push(begin.promise.then(() => tracing.step('sandbox.make', async () => undefined)))
    })
    begin.resolve()
    await Promise.all(made)
    answered('/v1/sessions', 201)
  })
  await tracing.close()
  expect(named('sandbox.make').parentSpanId).toBe(named('POST /v1/sessions').spanId)
})

test('a collector that is not there, or refuses, costs spans and one line in the log', async () => {
  const answer = (of: Tracing) => of.request('GET', null, async ({ answered }) => answered('/healthz', 200))
  collector.status = 400
  await answer(tracing)
  await expect.poll(() => lines.length).toBe(1)
  await collector.close()
  for (let request = 0; request < 5_000; request += 1) await answer(tracing)
  await tracing.close()
  expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(['traces-not-sent'])
  // One that has been closed is as good as none.
  await answer(tracing)
})

test('the library is loaded where a collector is configured, and nowhere else', () => {
  const root = join(import.meta.dirname, '..')
  const users = globSync('**/*.ts', { cwd: root }).filter((path) => {
    if (path.endsWith('.test.ts')) return false
    const text = readFileSync(join(root, path), 'utf8')
    return /^import (?!type).* from '(@opentelemetry\/.*|.*\/otlp-tracing\.ts)'/m.test(text)
  })
  expect(users).toEqual(['telemetry/otlp-tracing.ts'])
})
