/**
 * Boxes of MCP servers that are no conversation's: released when their server is gone, or is to have another one.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import type { McpServerConfig } from '@holdfast/protocol/mcp'
import type { Pipelines } from '../../policy/pipelines.ts'
import type { Steering } from '../../sessions/steering.ts'
import type { Store } from '../../store/store.ts'
import { findOpenSession } from '../../store/tables/sessions.ts'
import type { McpServerChange } from '../servers/mcp-servers.ts'
import { BOX_OWNER, boxCaller } from './box-caller.ts'
import { ownKeyHash } from './box-wish.ts'

export interface OwnBoxesNeeds {
  readonly store: Store
  readonly steering: Pick<Steering, 'release'>
  readonly pipelines: Pick<Pipelines, 'all'>
}

export async function releaseOwnBoxes({ store, steering, pipelines }: OwnBoxesNeeds, change: McpServerChange): Promise<void> {
  const { tenantId, name, before, after } = change
  const hashes = (config: McpServerConfig | null) => {
    if (config === null || config.scope === 'session') return []
    const { scope } = config
    const shared = scope === 'pipeline' ? pipelines.all().map((each) => each.name) : [null]
    return shared.map((pipeline) => ownKeyHash(name, { scope, pipeline }, config))
  }
  const kept = new Set(hashes(after))
  for (const hash of hashes(before).filter((each) => !kept.has(each))) {
    const session = await store.read((sql) => findOpenSession(sql, tenantId, BOX_OWNER, hash))
    if (session !== null) await steering.release(boxCaller(tenantId), session.id, { ifBusy: 'kill' })
  }
}
