/** The metrics: what is told becomes the right number, in a text that a strict reader takes, with a bounded number of series. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { untraced } from '../tracing.ts'
import { parseExposition, valueOf } from './contract/exposition.ts'
import { createMetrics } from './metrics.ts'
import type { Metrics } from './metrics.ts'
import type { StateSources } from './state-gauges.ts'

let metrics: Metrics
let now = 0
const sources = (stored: StateSources['stored']): StateSources => ({
  ...{
    stored,
    clock: () => now,
    attended: () => 3,
    waiting: () => 2,
    clockJumpSeconds: () => 7_200,
    sandboxes: () => 5,
    kept: () => 4,
    mcp: () => ({ servers: new Map([['ready', 2]]), clients: 7 }),
  },
})
const scraped = async () => parseExposition(await metrics.text())

beforeEach(() => {
  now = 0
  metrics = createMetrics(untraced)
})

test('every counter of known words begins at zero', async () => {
  const families = await scraped()
  expect(valueOf(families, 'holdfast_sessions_closed_total', { reason: 'expire' })).toBe(0)
  expect(valueOf(families, 'holdfast_executions_ended_total', { status: 'lost' })).toBe(0)
  expect(valueOf(families, 'holdfast_executions_ended_total', { status: 'running' })).toBeUndefined()
  expect(valueOf(families, 'holdfast_webhook_attempts_total', { outcome: 'failed' })).toBe(0)
})

test('sessions and executions are counted by what became of them', async () => {
  const { observer } = metrics
  observer.sessionCreated()
  observer.sessionFound()
  observer.sessionFound()
  observer.sessionSuspended('idle')
  observer.sessionSuspended('sandbox_lost')
  observer.sessionResumed()
  observer.sessionRebound()
  observer.sessionClosed('release')
  observer.executionBegun('process')
  observer.executionEnded('completed', 0.02)
  observer.executionEnded('lost', null)
  observer.executionStarted(0.003)
  observer.outputPrinted(10)
  observer.outputPrinted(5)
  const families = await scraped()
  const values = {
    holdfast_sessions_created_total: 1,
    holdfast_sessions_found_total: 2,
    holdfast_sessions_lost_total: 1,
    holdfast_sessions_resumed_total: 1,
    holdfast_sessions_rebound_total: 1,
    holdfast_execution_output_bytes_total: 15,
    holdfast_execution_duration_seconds_count: 1,
    holdfast_execution_duration_seconds_sum: 0.02,
    holdfast_execution_start_duration_seconds_sum: 0.003,
  }
  for (const [name, value] of Object.entries(values)) expect(valueOf(families, name), name).toBe(value)
  expect(valueOf(families, 'holdfast_sessions_suspended_total', { reason: 'idle' })).toBe(1)
  expect(valueOf(families, 'holdfast_sessions_suspended_total', { reason: 'sandbox_lost' })).toBe(1)
  expect(valueOf(families, 'holdfast_sessions_closed_total', { reason: 'release' })).toBe(1)
  expect(valueOf(families, 'holdfast_executions_started_total', { kind: 'process' })).toBe(1)
  expect(valueOf(families, 'holdfast_executions_ended_total', { status: 'completed' })).toBe(1)
  expect(valueOf(families, 'holdfast_execution_duration_seconds_bucket', { le: '0.01' })).toBe(0)
  expect(valueOf(families, 'holdfast_execution_duration_seconds_bucket', { le: '0.05' })).toBe(1)
})

test('requests are counted by route, method and class of status; whatever else is asked for makes no new series', async () => {
  const { requestAnswered } = metrics.observer
  requestAnswered('/v1/sessions/{id}', 'GET', 200, 0.002)
  requestAnswered('/v1/sessions/{id}', 'GET', 204, 0.002)
  requestAnswered('/v1/sessions/{id}', 'GET', 404, 0.002)
  for (let index = 0; index < 1_000; index += 1) requestAnswered(null, `PROPFIND${index}`, 404, 0.001)
  requestAnswered(null, 'GET', 999, 0.001)
  const families = await scraped()
  const route = '/v1/sessions/{id}'
  expect(valueOf(families, 'holdfast_http_requests_total', { route, method: 'GET', status: '2xx' })).toBe(2)
  expect(valueOf(families, 'holdfast_http_requests_total', { route, method: 'GET', status: '4xx' })).toBe(1)
  expect(valueOf(families, 'holdfast_http_requests_total', { route: 'other', method: 'other', status: '4xx' })).toBe(1_000)
  expect(valueOf(families, 'holdfast_http_request_duration_seconds_count', { route, method: 'GET' })).toBe(3)
  expect(families.get('holdfast_http_requests_total')?.samples).toHaveLength(3)
})

test('requests to MCP servers are counted by kind and outcome, and starts by how they ended; nothing that a tenant named makes a series', async () => {
  const { mcpRequestEnded, mcpServerStarted } = metrics.observer
  const before = (await scraped()).get('holdfast_mcp_requests_total')?.samples.length
  mcpRequestEnded('tools/call', 'answered', 0.004)
  mcpRequestEnded('tools/call', 'failed', 0.2)
  mcpRequestEnded('other', 'left', 0.1)
  mcpServerStarted('started', 0.3)
  mcpServerStarted('failed', 4)
  const families = await scraped()
  const method = 'tools/call'
  expect(valueOf(families, 'holdfast_mcp_requests_total', { method, outcome: 'answered' })).toBe(1)
  expect(valueOf(families, 'holdfast_mcp_requests_total', { method, outcome: 'failed' })).toBe(1)
  expect(valueOf(families, 'holdfast_mcp_requests_total', { method, outcome: 'tool_error' })).toBe(0)
  expect(valueOf(families, 'holdfast_mcp_requests_total', { method: 'other', outcome: 'left' })).toBe(1)
  expect(valueOf(families, 'holdfast_mcp_request_duration_seconds_bucket', { method, le: '0.005' })).toBe(1)
  expect(valueOf(families, 'holdfast_mcp_request_duration_seconds_count', { method })).toBe(2)
  expect(valueOf(families, 'holdfast_mcp_server_starts_total', { outcome: 'failed' })).toBe(1)
  expect(valueOf(families, 'holdfast_mcp_server_start_duration_seconds_sum')).toBe(0.3)
  expect(families.get('holdfast_mcp_requests_total')?.samples).toHaveLength(before ?? 0)
})

test('a stream is open from its beginning to its end', async () => {
  const ended = metrics.observer.streamOpened()
  metrics.observer.streamOpened()
  expect(valueOf(await scraped(), 'holdfast_http_streams_open')).toBe(2)
  ended()
  expect(valueOf(await scraped(), 'holdfast_http_streams_open')).toBe(1)
})

test('the health checks of all sandboxes of a backend are one number, and are never counted twice', async () => {
  const { healthOf, sandboxMade } = metrics.observer
  expect(healthOf('bubblewrap')).toBe(healthOf('bubblewrap'))
  Object.assign(healthOf('bubblewrap'), { checks: 7, skipped: 4, failures: 2, reconnects: 1 })
  sandboxMade('bubblewrap', 'started', 0.03)
  sandboxMade('bubblewrap', 'failed', 2)
  await scraped()
  const families = await scraped()
  const backend = 'bubblewrap'
  expect(valueOf(families, 'holdfast_health_checks_total', { backend })).toBe(7)
  expect(valueOf(families, 'holdfast_health_checks_skipped_total', { backend })).toBe(4)
  expect(valueOf(families, 'holdfast_health_check_failures_total', { backend })).toBe(2)
  expect(valueOf(families, 'holdfast_sandbox_reconnects_total', { backend })).toBe(1)
  expect(valueOf(families, 'holdfast_health_checks_total', { backend: 'docker' })).toBeUndefined()
  expect(valueOf(families, 'holdfast_sandbox_start_duration_seconds_count', { backend, outcome: 'started' })).toBe(1)
  expect(valueOf(families, 'holdfast_sandbox_start_duration_seconds_sum', { backend, outcome: 'failed' })).toBe(2)
})

test('the store tells of its transactions, and of a pool where it has one', async () => {
  const { transactionEnded, transactionRetried, poolOpened } = metrics.observer
  transactionEnded('read', 0.0002)
  transactionEnded('write', 0.004)
  transactionRetried()
  expect((await scraped()).get('holdfast_store_connections')?.samples).toEqual([])
  poolOpened(() => ({ used: 3, idle: 2, waiting: 1 }))
  const families = await scraped()
  expect(valueOf(families, 'holdfast_store_transaction_duration_seconds_sum', { kind: 'write' })).toBe(0.004)
  expect(valueOf(families, 'holdfast_store_retries_total')).toBe(1)
  expect(valueOf(families, 'holdfast_store_connections', { state: 'used' })).toBe(3)
  expect(valueOf(families, 'holdfast_store_connections', { state: 'waiting' })).toBe(1)
})

describe('how things stand', () => {
  test('is read at the moment of asking; the database at most every five seconds, whoever asks', async () => {
    let reads = 0
    metrics.watch(sources(async () => ({ sessions: new Map([['idle', (reads += 1)]]), webhooksBehind: 4 })))
    const families = await scraped()
    expect(valueOf(families, 'holdfast_requests_attended')).toBe(3)
    expect(valueOf(families, 'holdfast_sessions_waiting')).toBe(2)
    expect(valueOf(families, 'holdfast_sandboxes_connected')).toBe(5)
    expect(valueOf(families, 'holdfast_mcp_servers', { state: 'ready' })).toBe(2)
    expect(valueOf(families, 'holdfast_mcp_clients')).toBe(7)
    expect(valueOf(families, 'holdfast_sessions', { state: 'idle' })).toBe(1)
    expect(valueOf(families, 'holdfast_webhooks_behind')).toBe(4)
    now = 4_999
    await Promise.all([scraped(), scraped()])
    expect(reads).toBe(1)
    now = 5_000
    expect(valueOf(await scraped(), 'holdfast_sessions', { state: 'idle' })).toBe(2)
  })

  test('is told without the database when that does not answer', async () => {
    let isDown = false
    metrics.watch(
      sources(async () => {
        if (isDown) throw new Error('down')
        return { sessions: new Map([['idle', 1]]), webhooksBehind: 0 }
      }),
    )
    expect(valueOf(await scraped(), 'holdfast_webhooks_behind')).toBe(0)
    isDown = true
    now += 5_000
    const families = await scraped()
    expect(families.get('holdfast_sessions')?.samples).toEqual([])
    expect(families.get('holdfast_webhooks_behind')?.samples).toEqual([])
    expect(valueOf(families, 'holdfast_requests_attended')).toBe(3)
    isDown = false
    now += 5_000
    expect(valueOf(await scraped(), 'holdfast_sessions', { state: 'idle' })).toBe(1)
  })
})

test('the process itself is there, and two servers in one process share nothing', async () => {
  const other = createMetrics(untraced)
  other.observer.sessionCreated()
  const families = await scraped()
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_open_fds', 'nodejs_eventloop_lag_seconds'])
    expect(families.get(name)?.samples.length, name).toBeGreaterThan(0)
  expect(valueOf(families, 'holdfast_sessions_created_total')).toBe(0)
})

test('names follow the rules: counters end in total, times are seconds, sizes bytes', async () => {
  metrics.watch(sources(async () => ({ sessions: new Map(), webhooksBehind: 0 })))
  metrics.describe({ release: '1', backend: 'b', store: 's' })
  for (const [name, { type }] of [...(await scraped())].filter(([each]) => each.startsWith('holdfast_'))) {
    expect(name.endsWith('_total'), name).toBe(type === 'counter')
    expect(name).not.toMatch(/_(ms|milliseconds|kb|mb)(_|$)/)
    expect(type !== 'histogram' || name.endsWith('_seconds'), name).toBe(true)
  }
})

test('the page for operators lists every metric of ours with its type, its labels and its help', async () => {
  metrics.watch(sources(async () => ({ sessions: new Map(), webhooksBehind: 0 })))
  metrics.describe({ release: '1', backend: 'b', store: 's' })
  const listed = metrics.registry
    .getMetricsAsArray()
    .map((metric) => metric as typeof metric & { readonly labelNames: readonly string[] })
    .filter(({ name }) => name.startsWith('holdfast_'))
    .map(
      ({ name, type, labelNames, help }) => `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
    )
  const page = readFileSync(join(import.meta.dirname, '../../../../../docs/operate.md'), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `holdfast_'))
  expect(rows.toSorted()).toEqual(listed.toSorted())
})
