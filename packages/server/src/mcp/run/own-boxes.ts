/**
 * Boxes of MCP servers that are no conversation's: released when their server is gone, or is to have another one.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Which they are is read from the sessions and not from what was configured before: so nothing is left of a change that a kill cut off,
 * of a pipeline that is gone, or of a configuration that nobody can read any more.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Steering } from '../../sessions/steering.ts'
import type { Store } from '../../store/store.ts'
import { hostedSessions, openSessionsOf } from '../../store/tables/sessions.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import type { McpServer, McpServers } from '../servers/mcp-servers.ts'
import { BOX_OWNER, boxCaller } from './box-caller.ts'
import { ownKeyHash, readOwnKey } from './box-wish.ts'

export interface OwnBoxes {
  /** Those of this server that its configuration does not lead to. */
  release(server: Pick<McpServer, 'tenantId' | 'name'>): Promise<void>
  /** The same for all boxes on this Holdfast server. */
  recover(): Promise<void>
}

export interface OwnBoxesNeeds {
  readonly store: Store
  readonly servers: Pick<McpServers, 'get'>
  readonly steering: Pick<Steering, 'release'>
  readonly serverId: string
  readonly log: Log
}

export function createOwnBoxes({ store, servers, steering, serverId, log }: OwnBoxesNeeds): OwnBoxes {
  async function configOf(tenantId: string, name: string): Promise<McpServer['config'] | null> {
    const server = await servers.get(tenantId, name).catch((error: unknown) => {
      if (isHoldfastError(error, 'not_found')) return null
      throw error
    })
    // One of this name that everybody shares is another one.
    return server?.tenantId === tenantId ? server.config : null
  }

  async function isWanted({ tenantId, key, keyHash }: SessionRow): Promise<boolean> {
    const own = readOwnKey(key)
    if (own === null) return true
    // Read after the session was found: a box is never older than the configuration that asks for it.
    const config = await configOf(tenantId, own.server)
    if (config === null || config.scope === 'session') return false
    return keyHash === ownKeyHash(own.server, { scope: config.scope, pipeline: own.pipeline }, config)
  }

  async function releaseUnwanted(boxes: readonly SessionRow[]): Promise<void> {
    for (const box of boxes)
      try {
        if (!(await isWanted(box))) await steering.release(boxCaller(box.tenantId), box.id, { ifBusy: 'kill' })
      } catch (error) {
        log.warn('mcp-box-not-released', { session: box.id, error: errorText(error) })
      }
  }

  return {
    async release({ tenantId, name }) {
      const boxes = await store.read((sql) => openSessionsOf(sql, tenantId, BOX_OWNER))
      await releaseUnwanted(boxes.filter(({ key }) => readOwnKey(key)?.server === name))
    },
    async recover() {
      const hosted = await store.read((sql) => hostedSessions(sql, serverId))
      await releaseUnwanted(hosted.filter(({ owner }) => owner === BOX_OWNER))
    },
  }
}
