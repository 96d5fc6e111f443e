/**
 * For whom a request is: what its context says, checked against the connection it came on.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { BoxError, HOST_ACTIONS } from '@holdfast/protocol/box'
import type { BoxAction, BoxContext } from '@holdfast/protocol/box'
import type { BoxPeer } from './credentials.ts'
import type { Fence } from './fence.ts'
import { RAW_TENANT, tenantOf } from './tenant.ts'
import type { BoxTenant } from './tenant.ts'

/** `null` for actions of the host. Throws `PermissionError`. */
export function tenantFor(
  action: BoxAction,
  context: BoxContext | null,
  { instance }: BoxPeer,
  fence: Pick<Fence, 'only'>,
): BoxTenant | null {
  const isHost = HOST_ACTIONS.has(action)
  if (context !== null && context.instance_uuid !== instance)
    throw new BoxError('PermissionError', 'context.instance_uuid is not the instance of this connection')
  if (isHost) return null
  if (instance === null) return RAW_TENANT
  if (context !== null) return tenantOf(context)
  // LangBot collects files by commands without a context; where there is one workspace only, it is clear which is meant.
  const only = action === 'box_exec' ? fence.only(instance) : null
  if (only === null)
    throw new BoxError('PermissionError', 'this action needs a context: instance_uuid, workspace_uuid and placement_generation')
  return { ...only, isImplied: true }
}
