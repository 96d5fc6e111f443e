/**
 * How things stand at the moment of asking: read from the server and its database when somebody scrapes.
 *
 * Stands beside the flow. The database is asked at most every five seconds, however many scrape. When it does not answer, its gauges
 * are left out and the rest is told.
 */
import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'

const REMEMBERED_MS = 5_000

/** What the database knows. */
export interface StoredState {
  readonly sessions: ReadonlyMap<string, number>
  /** Webhooks whose next event was tried in vain so far. */
  readonly webhooksBehind: number
}

/** MCP servers that this server knows of: where each place is one. */
export interface McpState {
  readonly servers: ReadonlyMap<string, number>
  readonly clients: number
}

export interface StateSources {
  stored(): Promise<StoredState>
  /** Callers that are being served. */
  attended(): number
  /** Sessions whose sandbox is being made. */
  waiting(): number
  /** Sandboxes that this server is connected to. */
  sandboxes(): number
  /** What all tenants keep: bytes of output and answers, a number of events. */
  kept(kind: 'output' | 'events' | 'answers'): number
  mcp(): McpState
  readonly clock: () => number
  /** How far the wall clock is ahead of the server's clock after a jump that is not followed yet. */
  clockJumpSeconds(): number
}

export function stateGauges(registry: Registry, sources: StateSources): void {
  const registers = [registry]
  const stored = remembered(sources)
  const sessions: Gauge<'state'> = new Gauge({
    name: 'holdfast_sessions',
    help: 'Open sessions by state, in the whole database: the same on each server that shares it.',
    labelNames: ['state'],
    registers,
    async collect() {
      sessions.reset()
      for (const [state, count] of (await stored())?.sessions ?? []) sessions.set({ state }, count)
    },
  })
  const behind: Gauge = new Gauge({
    name: 'holdfast_webhooks_behind',
    help: 'Webhooks whose next event has been tried in vain so far, in the whole database.',
    registers,
    async collect() {
      const state = await stored()
      if (state === null) behind.remove()
      else behind.set(state.webhooksBehind)
    },
  })
  gauge('holdfast_requests_attended', 'Callers who are being served by a session at this moment.', sources.attended)
  gauge(
    'holdfast_clock_jump_seconds',
    'How far the wall clock jumped, while the jump is not followed; 0 otherwise.',
    sources.clockJumpSeconds,
  )
  gauge('holdfast_sessions_waiting', 'Sessions on this server whose sandbox is being made.', sources.waiting)
  gauge('holdfast_sandboxes_connected', 'Sandboxes that this server is connected to.', sources.sandboxes)
  gauge('holdfast_kept_output_bytes', 'Execution records with their output, of all tenants; bounded by quotas.output for each.', () =>
    sources.kept('output'),
  )
  gauge('holdfast_kept_events', 'Events of all tenants; bounded by quotas.events for each.', () => sources.kept('events'))
  gauge('holdfast_kept_answer_bytes', 'Answers kept for Idempotency-Keys, of all tenants; bounded by quotas.answers for each.', () =>
    sources.kept('answers'),
  )
  const servers: Gauge<'state'> = new Gauge({
    name: 'holdfast_mcp_servers',
    help: 'MCP servers in boxes of this server, by state; one for each box that it is in.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of sources.mcp().servers) servers.set({ state }, count)
    },
  })
  gauge('holdfast_mcp_clients', 'Clients that are connected to MCP servers in boxes of this server.', () => sources.mcp().clients)

  function gauge(name: string, help: string, read: () => number): void {
    const made: Gauge = new Gauge({ name, help, registers, collect: () => made.set(read()) })
  }
}

/** `null` while the database does not answer. */
function remembered({ stored, clock }: StateSources): () => Promise<StoredState | null> {
  let known: Promise<StoredState | null> | null = null
  let readAt = 0
  return () => {
    if (known === null || clock() - readAt >= REMEMBERED_MS) {
      readAt = clock()
      // Decision: that it does not answer is told by /readyz and by the failing transactions.
      known = stored().catch(() => null)
    }
    return known
  }
}
