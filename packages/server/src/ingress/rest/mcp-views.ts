/**
 * MCP servers as the REST door shows them: without values of environments, and of their processes only those that the caller may see.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import type { McpServerConfigView, McpServerView } from '@holdfast/protocol/mcp'
import { configView } from '../../mcp/launch/config-view.ts'
import { isVisible } from '../../mcp/run/mcp-runs.ts'
import type { McpRuns } from '../../mcp/run/mcp-runs.ts'
import type { ServerRun } from '../../mcp/run/server-run.ts'
import type { McpServer } from '../../mcp/servers/mcp-servers.ts'
import type { SessionReads } from '../../sessions/session-reads.ts'
import { moment } from './moment.ts'
import type { Entered } from './route.ts'

/** Of one server: each is asked for its pid. */
const MAXIMUM_RUNS = 100

export interface McpViewNeeds {
  readonly runs: McpRuns
  readonly reads: Pick<SessionReads, 'hosted'>
}

export async function serverView({ runs, reads }: McpViewNeeds, server: McpServer, entered: Entered): Promise<McpServerView> {
  const { name, scope, config, createdAt, updatedAt, tenantId } = server
  const isOwn = tenantId === entered.principal.tenantId
  const seen = isOwn ? await visibleRuns({ runs, reads }, server, entered, MAXIMUM_RUNS) : []
  return {
    ...{ name, scope, disabled: config.disabled },
    config: isOwn ? configView(config) : foreignView(config),
    created_at: moment(createdAt),
    updated_at: moment(updatedAt),
    runs: await Promise.all(seen.map((run) => runs.view(run))),
  }
}

/** Those that were used last, at most so many. */
export async function visibleRuns(
  { runs, reads }: McpViewNeeds,
  server: McpServer,
  { caller }: Entered,
  most: number,
): Promise<readonly ServerRun[]> {
  const visible: ServerRun[] = []
  for (const run of runs.of(server).toSorted((one, other) => other.usedAt - one.usedAt)) {
    if (visible.length === most) break
    if (await isVisible(reads, caller, run)) visible.push(run)
  }
  return visible
}

/** One that everybody shares is another tenant's: what it is told when it starts is that one's affair. */
function foreignView(config: McpServer['config']): McpServerConfigView {
  const view = configView(config)
  return { ...view, command: '', args: [], env_keys: [], cwd: null, box: { ...view.box, host_path: null, env_keys: [] } }
}
