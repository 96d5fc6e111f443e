/**
 * Boxes of MCP servers that are no conversation's: released when their server is gone, or is to have another one.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Which they are is read from the sessions and not from what was configured before: so nothing is left of a change that a kill cut off,
 * of a pipeline that is gone, or of a change that another Holdfast server made.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { TenantPipelines } from '../../policy/tenant-pipelines.ts'
import type { Steering } from '../../sessions/steering.ts'
import type { Store } from '../../store/store.ts'
import { hostedSessionsOf } from '../../store/tables/sessions.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import type { McpServer, McpServers } from '../servers/mcp-servers.ts'
import { BOX_OWNER, boxCaller } from './box-caller.ts'
import { ownKeyHash, readOwnKey } from './box-wish.ts'

export interface OwnBoxes {
  /** Those on this Holdfast server that no configuration leads to. */
  release(): Promise<void>
}

export interface OwnBoxesNeeds {
  readonly store: Store
  readonly servers: Pick<McpServers, 'get'>
  readonly steering: Pick<Steering, 'release'>
  readonly pipelines: Pick<TenantPipelines, 'has'>
  readonly serverId: string
  readonly log: Log
}

export function createOwnBoxes({ store, servers, steering, pipelines, serverId, log }: OwnBoxesNeeds): OwnBoxes {
  async function configOf(tenantId: string, name: string): Promise<McpServer['config'] | null> {
    const server = await servers.get(tenantId, name).catch((error: unknown) => {
      if (isHoldfastError(error, 'not_found')) return null
      throw error
    })
    // One of this name that everybody shares is another one.
    return server?.tenantId === tenantId ? server.config : null
  }

  const isKnown = async (tenantId: string, name: string | null) => name === null || pipelines.has({ tenantId, name })

  async function isWanted({ tenantId, key, keyHash }: SessionRow): Promise<boolean> {
    const own = readOwnKey(key)
    if (own === null) return true
    // Read after the session was found: a box is never older than the configuration that asks for it.
    const config = await configOf(tenantId, own.server)
    if (config === null || config.scope === 'session' || !(await isKnown(tenantId, own.pipeline))) return false
    return keyHash === ownKeyHash(own.server, { scope: config.scope, pipeline: own.pipeline }, config)
  }

  return {
    async release() {
      for (const box of await store.read((sql) => hostedSessionsOf(sql, serverId, BOX_OWNER)))
        try {
          if (!(await isWanted(box))) await steering.release(boxCaller(box.tenantId), box.id, { ifBusy: 'kill' })
        } catch (error) {
          log.warn('mcp-box-not-released', { session: box.id, error: errorText(error) })
        }
    },
  }
}
