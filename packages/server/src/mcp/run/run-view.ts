/**
 * What is shown of one MCP server in one place.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import type { McpPhase, McpRunView } from '@holdfast/protocol/mcp'
import type { SessionRow } from '../../store/tables/sessions.ts'
import type { McpServer } from '../servers/mcp-servers.ts'
import type { JsonObject } from '../share/message.ts'
import type { Health } from './health.ts'
import type { Launched } from './launch-server.ts'
import type { Place } from './place.ts'
import { processNameOf } from './process-name.ts'
import { failureView } from './run-failure.ts'
import type { RunFailure } from './run-failure.ts'

/** Characters of what a server says of itself. */
const SHOWN_INFO = 8_192

export interface RunFacts {
  readonly server: McpServer
  readonly place: Place
  readonly session: SessionRow | null
  readonly phase: McpPhase
  readonly state: McpRunView['state']
  readonly attempts: number
  readonly failure: RunFailure | null
  readonly startedAt: number
  readonly readyAt: number | null
  readonly health: Health | null
  readonly launched: Launched | null
  readonly tools: number | null
}

export function runView(facts: RunFacts): Omit<McpRunView, 'pid'> {
  const { server, place, session, phase, state, attempts, failure, startedAt, readyAt, health, launched, tools } = facts
  return {
    scope_key: place.scopeKey,
    session_id: session?.id ?? null,
    process: session === null ? null : processNameOf(server.name),
    ...{ phase: failure?.phase ?? phase, state, attempts },
    error: failure === null ? null : failureView(failure),
    started_at: new Date(startedAt).toISOString(),
    ready_at: readyAt === null ? null : new Date(readyAt).toISOString(),
    health: health?.state ?? null,
    checked_at: health === null ? null : new Date(health.checkedAt).toISOString(),
    protocol_version: launched?.handshake.protocolVersion ?? null,
    server_info: launched === null ? null : shownInfo(launched.handshake.serverInfo),
    tools,
    clients: launched?.shared.counts.clients ?? 0,
  }
}

/** Pictures of it are for its clients, and not for every list. */
function shownInfo(info: JsonObject): Record<string, unknown> {
  if (JSON.stringify(info).length <= SHOWN_INFO) return { ...info }
  const { name, version } = info
  return { name: String(name).slice(0, 200), version: String(version).slice(0, 200) }
}
