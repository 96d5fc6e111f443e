/**
 * What the sandbox of an MCP server is to be: of a conversation's box as far as the server needs it, of its own box all of it.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { createHash } from 'node:crypto'
import type { SandboxWish } from '@holdfast/protocol'
import type { McpBoxConfig, McpServerConfig } from '@holdfast/protocol/mcp'
import type { LaunchPlan } from '../launch/plan.ts'
import { sandboxWishOf } from '../launch/sandbox-wish.ts'
import type { SessionRequest } from '../../sessions/getting.ts'
import type { Place } from './place.ts'

/**
 * A server never widens the box of its conversation: where that has no network, the server has none. One that must not have any is
 * refused where there is one.
 */
export function conversationWish(box: McpBoxConfig, plan: Pick<LaunchPlan, 'mount'>): SandboxWish {
  const { network, ...wish } = sandboxWishOf(box, plan)
  return network === 'off' ? { ...wish, network } : wish
}

/** A box of its own, found by what it is to be: with another wish it is another one, so the old one never stands in the way. */
export function ownSession(server: string, shared: Shared, config: McpServerConfig, plan: Pick<LaunchPlan, 'mount'>): SessionRequest {
  const { scope, pipeline } = shared
  return {
    key: {
      scope: null,
      key: `mcp ${server} (${pipeline === null ? scope : `${PIPELINE}${pipeline}`})`,
      keyHash: ownKeyHash(server, shared, config),
    },
    wish: { ...sandboxWishOf(config.box, plan), ...(pipeline === null ? {} : { pipeline }) },
    times: { onIdle: 'suspend', leaseMs: null, lifetimeMs: null },
  }
}

const PIPELINE = 'pipeline '

/** Whose box a session is, from the key that `ownSession` gave it; `null`: it is none. */
export function readOwnKey(key: string): { readonly server: string; readonly pipeline: string | null } | null {
  const [, server, shared] = /^mcp (\S+) \((.+)\)$/.exec(key) ?? []
  if (server === undefined || shared === undefined) return null
  return { server, pipeline: shared.startsWith(PIPELINE) ? shared.slice(PIPELINE.length) : null }
}

export type Shared = Pick<Place, 'scope' | 'pipeline'>

/** Known from the configuration alone, so that the box of one that is gone is still found. */
export function ownKeyHash(server: string, { scope, pipeline }: Shared, { box, command, args, cwd }: McpServerConfig): string {
  const { env: _, startup_timeout_sec: __, ...shape } = box
  // What is mounted is found from these.
  const project = box.host_path_mode === 'rw' ? [command, args, cwd ?? null] : null
  return createHash('sha256')
    .update(JSON.stringify(['mcp', scope, pipeline, server, shape, project]))
    .digest('hex')
}
