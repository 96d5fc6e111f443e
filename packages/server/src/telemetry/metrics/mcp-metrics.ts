/**
 * MCP servers in boxes: what clients asked them for, how that went, and how their starts went.
 *
 * Stands beside the flow. Neither servers nor tools are named: who configures them chooses those words, and there is no end of them.
 */
import { Counter, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import { MCP_METHODS, MCP_OUTCOMES } from '../observations.ts'
import type { McpMethod, McpObserver, McpOutcome } from '../observations.ts'
import { RUN_SECONDS } from './buckets.ts'
import { countedBy } from './counted-by.ts'

/** From a call over pipes to a tool that works for minutes. */
const CALL_SECONDS = [0.001, 0.0025, ...RUN_SECONDS.filter((step) => step <= 300)]

export function mcpMetrics(registry: Registry): McpObserver {
  const registers = [registry]
  const requests = new Counter({
    name: 'holdfast_mcp_requests_total',
    help: 'Requests of clients to MCP servers in boxes, by what became of them; left: the client did not wait.',
    labelNames: ['method', 'outcome'],
    registers,
  })
  const seconds = new Histogram({
    name: 'holdfast_mcp_request_duration_seconds',
    help: 'From a request to an MCP server in a box to its end.',
    labelNames: ['method'],
    buckets: CALL_SECONDS,
    registers,
  })
  const starts = countedBy(registry, ['started', 'failed', 'unwanted'], {
    name: 'holdfast_mcp_server_starts_total',
    help: 'Tries to start an MCP server; unwanted: given up because nobody needed it any more.',
    label: 'outcome',
  })
  const started = new Histogram({
    name: 'holdfast_mcp_server_start_duration_seconds',
    help: 'The start of an MCP server until it has answered the first words, with its box and its dependencies.',
    buckets: RUN_SECONDS,
    registers,
  })
  const series = new Map<McpMethod, Series>(MCP_METHODS.map((method) => [method, seriesOf(method)]))

  function seriesOf(method: McpMethod): Series {
    const byOutcome = new Map<McpOutcome, Counter.Internal>(MCP_OUTCOMES.map((outcome) => [outcome, requests.labels(method, outcome)]))
    for (const each of byOutcome.values()) each.inc(0)
    return { byOutcome, seconds: seconds.labels(method) }
  }

  return {
    mcpRequestEnded(method, outcome, duration) {
      const bound = series.get(method)
      bound?.byOutcome.get(outcome)?.inc()
      bound?.seconds.observe(duration)
    },
    mcpServerStarted(outcome, duration) {
      starts(outcome)
      if (outcome === 'started') started.observe(duration)
    },
  }
}

/** Bound once. */
interface Series {
  readonly byOutcome: ReadonlyMap<McpOutcome, Counter.Internal>
  readonly seconds: Histogram.Internal<'method'>
}
