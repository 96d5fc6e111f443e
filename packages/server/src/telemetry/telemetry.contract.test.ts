/** A real server with real sandboxes, looked at from outside: its metrics, its traces, its log, its readiness. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LIVE_STATES } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { startServer } from '../app.ts'
import type { RunningServer } from '../app.ts'
import { loadConfig } from '../config.ts'
import { openReceiver } from '../sessions/webhooks/contract/receiver.ts'
import { openCollector } from './contract/collector.ts'
import type { Collector } from './contract/collector.ts'
import { createLog } from './log.ts'
import { parseExposition, valueOf } from './metrics/contract/exposition.ts'

interface Sending {
  readonly method?: string
  readonly body?: object | string
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

for (const subject of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(subject.skipReason !== null)(`telemetry on ${subject.kind}${because(subject)}`, () => {
    let home: string
    let collector: Collector
    let server: RunningServer
    let adminKey: string
    const lines: string[] = []

    beforeEach(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-telemetry-'))
      lines.length = 0
      collector = await openCollector()
      await start()
    })
    afterEach(async () => {
      await server.close()
      await collector.close()
      rmSync(home, { recursive: true, force: true })
    })

    async function start(settings: NodeJS.ProcessEnv = {}): Promise<void> {
      const config = loadConfig(
        {},
        {
          ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: subject.kind, HOLDFAST_SESSIONS_ON_STOP: 'suspend' },
          ...{ HOLDFAST_TELEMETRY_OTLP_URL: collector.url, HOLDFAST_WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' },
          ...settings,
        },
      )
      server = await startServer(
        config,
        createLog({ level: 'debug', format: 'json' }, (line) => lines.push(line)),
      )
      adminKey = readFileSync(join(home, 'admin.key'), 'utf8').trim()
    }
    const send = (path: string, { method = 'GET', body, key = adminKey, headers = {} }: Sending = {}) =>
      fetch(`${server.url}${path}`, {
        method,
        headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
    const post = async (path: string, body: object | string, more: Sending = {}) =>
      (await (await send(path, { method: 'POST', body, ...more })).json()) as Record<string, unknown> & { session?: { id: string } }
    const exec = (session: string, command: string, more: object = {}) => post('/v1/exec', { session, command, ...more })
    const scraped = async () => {
      const response = await send('/metrics')
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
      return parseExposition(await response.text())
    }

    test('the metrics are what was done', async () => {
      const { session } = await exec('a', 'printf 12345')
      await exec('a', 'printf 12345 >&2')
      await exec('a', 'sleep 60', { timeout_ms: 50 })
      const other = await exec('b', 'true')
      expect(await exec('a', 'true', { cwd: '/nowhere' })).toMatchObject({ code: 'command_not_started' })
      const stream = await send('/v1/exec', {
        ...{ method: 'POST', body: { session: 'a', command: 'printf 123; read never', stdin: '' } },
        headers: { accept: 'text/event-stream' },
      })
      expect(await stream.text()).toContain('event: exit')
      // Its sandbox is taken away, and it gets another.
      const [first] = (await server.chosen.backend.list()).map(({ name }) => name)
      await server.chosen.backend.destroy(String(first))
      await expect.poll(async () => valueOf(await scraped(), 'holdfast_sessions_lost_total')).toBe(1)
      for (const key of ['a', 'b']) expect(await exec(key, 'true')).toMatchObject({ status: 'completed' })
      await post(`/v1/sessions/${session?.id}/suspend`, {})
      await exec('a', 'true')
      await post(`/v1/sessions/${other.session?.id}/release`, {})
      await expect.poll(async () => valueOf(await scraped(), 'holdfast_sessions_closed_total', { reason: 'release' })).toBe(1)
      expect((await send('/v1/no/such/thing')).status).toBe(404)

      const families = await scraped()
      const numbers = {
        holdfast_sessions_created_total: 2,
        holdfast_sessions_found_total: 7,
        holdfast_sessions_lost_total: 1,
        holdfast_sessions_rebound_total: 1,
        holdfast_sessions_resumed_total: 1,
        holdfast_execution_output_bytes_total: 13,
        holdfast_execution_start_duration_seconds_count: 8,
        holdfast_execution_duration_seconds_count: 8,
        holdfast_requests_attended: 0,
        holdfast_sessions_waiting: 0,
        holdfast_sandboxes_connected: 1,
        holdfast_http_streams_open: 0,
        holdfast_store_retries_total: 0,
        holdfast_webhooks_behind: 0,
      }
      for (const [name, value] of Object.entries(numbers)) expect(valueOf(families, name), name).toBe(value)
      const of = (name: string, labels: Readonly<Record<string, string>>) => valueOf(families, name, labels)
      expect(of('holdfast_executions_started_total', { kind: 'command' })).toBe(9)
      expect(of('holdfast_executions_ended_total', { status: 'completed' })).toBe(7)
      expect(of('holdfast_executions_ended_total', { status: 'timed_out' })).toBe(1)
      expect(of('holdfast_executions_ended_total', { status: 'not_started' })).toBe(1)
      expect(of('holdfast_sessions_suspended_total', { reason: 'caller' })).toBe(1)
      expect(of('holdfast_sandbox_start_duration_seconds_count', { backend: subject.kind, outcome: 'started' })).toBe(4)
      expect(of('holdfast_http_requests_total', { route: '/v1/exec', method: 'POST', status: '2xx' })).toBe(8)
      expect(of('holdfast_http_requests_total', { route: '/v1/exec', method: 'POST', status: '4xx' })).toBe(1)
      expect(of('holdfast_http_requests_total', { route: 'other', method: 'GET', status: '4xx' })).toBe(1)
      expect(of('holdfast_http_request_duration_seconds_count', { route: '/v1/exec', method: 'POST' })).toBe(9)
      expect(of('holdfast_info', { release: '0.1.0', backend: subject.kind, store: 'sqlite' })).toBe(1)
      for (const kind of ['read', 'write'])
        expect(of('holdfast_store_transaction_duration_seconds_count', { kind }), kind).toBeGreaterThan(10)
      const checks = of('holdfast_health_checks_total', { backend: subject.kind }) ?? 0
      expect(checks).toBeGreaterThanOrEqual(5)
      expect(of('holdfast_health_checks_skipped_total', { backend: subject.kind })).toBeLessThanOrEqual(checks)
      // Remembered for a while, so possibly of a moment ago; but it adds up.
      const states = families.get('holdfast_sessions')?.samples ?? []
      expect(new Set(states.map(({ labels }) => labels['state']))).toEqual(new Set([...LIVE_STATES, 'closing']))
    })

    test('the metrics are for operators, unless the settings open them', async () => {
      const keyOf = async (role: string) => String((await post('/v1/keys', { name: role, subject: role, role }))['key'])
      expect((await send('/metrics', { key: null })).status).toBe(401)
      for (const role of ['viewer', 'member']) expect((await send('/metrics', { key: await keyOf(role) })).status, role).toBe(403)
      for (const role of ['operator', 'tenant_admin']) expect((await send('/metrics', { key: await keyOf(role) })).status, role).toBe(200)
      await server.close()
      await start({ HOLDFAST_METRICS_PUBLIC: 'true' })
      expect((await send('/metrics', { key: null })).status).toBe(200)
    })

    test('a request’s trace has the steps that it waited for, and is the caller’s own', async () => {
      const traceId = randomBytes(16).toString('hex')
      await post('/v1/exec', { session: 'a', command: 'true' }, { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } })
      await server.close()
      const spans = collector.spans.filter((span) => span.traceId === traceId)
      const names = new Set(spans.map(({ name }) => name))
      const steps = ['session.get-or-create', 'session.ready', 'sandbox.make', 'execution.start', 'store.read', 'store.write']
      expect([...names].toSorted()).toEqual(['POST /v1/exec', ...steps].toSorted())
      const root = spans.find(({ name }) => name === 'POST /v1/exec')
      expect(root).toMatchObject({ parentSpanId: 'b7ad6b7169203331', attributes: { 'http.response.status_code': 200 } })
      const ids = new Set(spans.map(({ spanId }) => spanId))
      expect(spans.filter((span) => span !== root && !ids.has(String(span.parentSpanId)))).toEqual([])
    })

    test('no secret of anybody is in the log, the metrics or the traces, even at the finest level', async () => {
      const secrets: string[] = []
      const secret = (what: string) => {
        const made = `${what}-${randomBytes(8).toString('hex')}`
        secrets.push(made)
        return made
      }
      const receiver = await openReceiver()
      const own = await post('/v1/keys', { name: 'k', subject: 'ada', role: 'member' })
      const hook = await post('/v1/webhooks', { url: `http://127.0.0.1:${receiver.port}/hook` })
      secrets.push(adminKey, String(own['key']), String(hook['secret']))
      const key = String(own['key'])
      const more = { key, headers: { cookie: secret('cookie'), 'x-anything': secret('header') } }

      const ran = await post(
        '/v1/exec',
        {
          ...{ session: 'a', command: `cat; echo $WORD; : ${secret('command')}`, stdin: secret('stdin') },
          env: { WORD: secret('value'), [secret('VARIABLE').replaceAll('-', '_')]: 'x' },
        },
        { ...more, headers: { ...more.headers, 'idempotency-key': secret('idempotency') } },
      )
      expect(ran).toMatchObject({ status: 'completed' })
      const id = String(ran.session?.id)
      // What goes wrong is told to the caller, not to the log.
      await post('/v1/exec', { session: 'a', argv: [`/${secret('program')}`, secret('argument')] }, more)
      await post('/v1/exec', { session: 'a', command: 'true', cwd: `/${secret('directory')}` }, more)
      await post('/v1/exec', `{"command": "${secret('json')}"`, more)
      await post('/v1/exec', { session: 'a', command: 'true', [secret('field')]: 1 }, more)
      await post(
        `/v1/sessions/${id}/executions`,
        { command: `sleep 60; ${secret('background')}`, env: { A: secret('background-value') } },
        more,
      )
      for (const path of [
        `/v1/${secret('path')}`,
        `/${secret('address')}`,
        `/v1/sessions?key=${secret('query')}`,
        `/v1/sessions/${secret('id')}`,
      ])
        await send(path, more)
      await send('/v1/sessions', { key: secret('wrong-key') })
      await send('/v1/sessions', { key: null, headers: { 'x-api-key': secret('other-wrong-key') } })
      const file = `/v1/sessions/${id}/files?path=${secret('file')}`
      expect((await send(file, { ...more, method: 'PUT', body: secret('content') })).status).toBe(200)
      expect((await send(file, more)).status).toBe(200)
      expect((await send(`/v1/sessions/${id}/files?path=${secret('missing')}`, more)).status).toBe(404)
      const talk = await post(`/v1/sessions/${id}/executions`, { command: 'cat', interactive: true }, more)
      const said = await send(`/v1/sessions/${id}/executions/${String(talk['execution_id'])}/stdin`, {
        ...more,
        ...{ method: 'POST', body: { data: secret('said'), close: true } },
      })
      expect(said.status).toBe(204)
      const process = { name: secret('process-name'), command: `sleep 60; ${secret('process')}`, env: { A: secret('process-value') } }
      expect(await post(`/v1/sessions/${id}/processes`, process, more)).toMatchObject({ status: 'running' })
      const stream = await send('/v1/exec', {
        ...{ method: 'POST', body: { session: 'a', command: `echo ${secret('streamed')}` }, key },
        headers: { ...more.headers, accept: 'text/event-stream' },
      })
      await stream.text()
      await post(`/v1/sessions/${id}/cancel`, {}, more)
      await expect.poll(() => receiver.received.length).toBeGreaterThan(0)

      const metrics = await (await send('/metrics')).text()
      await server.close()
      await receiver.close()
      const told = { log: lines.join(''), metrics, traces: collector.bodies.join('\n') }
      expect(told.log).toContain('request-answered')
      expect(told.traces).toContain('/v1/exec')
      expect(secrets.length).toBeGreaterThan(20)
      for (const [where, text] of Object.entries(told))
        expect(
          secrets.filter((word) => text.includes(word)),
          where,
        ).toEqual([])
    })

    test('webhooks are counted by how they were taken, and one that is behind is seen', async () => {
      let isDown = true
      const receiver = await openReceiver((response) => response.writeHead(isDown ? 500 : 204).end())
      await post('/v1/webhooks', { url: `http://127.0.0.1:${receiver.port}/hook`, types: ['session.created'] })
      await exec('a', 'true')
      const value = async (name: string, labels = {}) => valueOf(await scraped(), name, labels)
      await expect.poll(() => value('holdfast_webhooks_behind')).toBe(1)
      isDown = false
      await expect.poll(() => value('holdfast_webhook_attempts_total', { outcome: 'taken' })).toBe(1)
      expect(await value('holdfast_webhook_attempts_total', { outcome: 'failed' })).toBe(receiver.received.length - 1)
      expect(await value('holdfast_webhook_events_given_up_total')).toBe(0)
      await expect.poll(() => value('holdfast_webhooks_behind')).toBe(0)
      await receiver.close()
    })

    test('every request has one line in the log, with what an operator needs to find it again', async () => {
      const response = await send('/v1/sessions')
      const line = lines.map((each) => JSON.parse(each) as Record<string, unknown>).find(({ event }) => event === 'request-answered')
      expect(line).toMatchObject({
        ...{ level: 'debug', request_id: response.headers.get('x-request-id'), method: 'GET', route: '/v1/sessions', status: 200 },
        ...{ key: 'admin_key', trace_id: expect.stringMatching(/^[0-9a-f]{32}$/), duration_ms: expect.any(Number) },
      })
    })

    test('it is alive and ready while its parts answer, and says which one does not', async () => {
      expect((await send('/healthz', { key: null })).status).toBe(200)
      expect((await send('/readyz', { key: null })).status).toBe(200)
      await server.close()
      // Nothing is written at its end, so that it can end without a database.
      await start({ HOLDFAST_SESSIONS_ON_STOP: 'keep' })
      await server.store.close()
      const refused = await send('/readyz', { key: null })
      expect(refused.status).toBe(503)
      const problem = await refused.text()
      expect(JSON.parse(problem)).toMatchObject({ code: 'store_unavailable', details: { part: 'store' } })
      expect(problem).not.toContain(home)
      expect((await send('/healthz', { key: null })).status).toBe(200)
    })
  })
}
