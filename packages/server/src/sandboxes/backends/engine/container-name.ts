/**
 * How a container is known to be a certain sandbox of a certain server.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { createHash } from 'node:crypto'

export const SERVER_LABEL = 'holdfast.server'
export const SANDBOX_LABEL = 'holdfast.sandbox'
const VERSION_LABEL = 'holdfast.version'
/** Of the layout of our containers, for a later server that finds them. */
const LAYOUT_VERSION = '1'

export function containerLabels(serverId: string, sandboxName: string): Readonly<Record<string, string>> {
  return { [SERVER_LABEL]: serverId, [SANDBOX_LABEL]: sandboxName, [VERSION_LABEL]: LAYOUT_VERSION }
}

/** Unique among all servers of an engine. */
export function containerNameOf(serverId: string, sandboxName: string): string {
  return `holdfast-${nameSafe(serverId)}-${sandboxName}`
}

/** Server ids are free text; container names are not. The label holds the id itself. */
function nameSafe(serverId: string): string {
  if (/^[a-zA-Z0-9_.-]{1,64}$/.test(serverId)) return serverId
  return createHash('sha256').update(serverId).digest('hex').slice(0, 24)
}
