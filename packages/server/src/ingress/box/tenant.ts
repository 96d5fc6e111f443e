/**
 * Whose a call of a Box client is: one generation of one workspace of one LangBot instance, with the names that keep it apart.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Clients of the 0.4 generation know no workspaces: they share one, in which ids are what they are.
 */
import { physicalSessionId, placementNamespace, sanitizedSessionId, workspaceNamespace } from '@holdfast/protocol/box'
import type { BoxContext } from '@holdfast/protocol/box'

export interface BoxTenant {
  readonly instance: string
  readonly workspace: string
  readonly generation: number
  /** `ws-…`: names what lasts. */
  readonly namespace: string
  /** `ws-…-g1`: names sessions. Empty for the one workspace of clients without any. */
  readonly placement: string
  /** The call had no context, and the one workspace that is known is meant. */
  readonly isImplied?: true
}

/** The workspace of clients that know none. Its name is none that a workspace could get. */
export const RAW_TENANT: BoxTenant = { instance: '', workspace: '', generation: 1, namespace: 'ws-raw', placement: '' }

export function tenantOf({ instance_uuid: instance, workspace_uuid: workspace, placement_generation: generation }: BoxContext): BoxTenant {
  return {
    ...{ instance, workspace, generation },
    namespace: workspaceNamespace(instance, workspace),
    placement: placementNamespace(instance, workspace, generation),
  }
}

/** The id of a session in the relay's address. Throws `ValueError` when nothing is left of the caller's id. */
export function physicalIdOf({ placement }: BoxTenant, logicalId: string): string {
  return placement === '' ? logicalId : physicalSessionId(placement, logicalId)
}

/** What the caller gets back for its own id. */
export function shownIdOf({ placement }: BoxTenant, logicalId: string): string {
  return placement === '' ? logicalId : sanitizedSessionId(logicalId)
}

/** The caller's id of a session with this physical id; `null`: it is another placement's. */
export function logicalIdOf({ placement }: BoxTenant, physicalId: string): string | null {
  if (placement === '') return physicalId
  return physicalId.startsWith(`${placement}-`) ? physicalId.slice(placement.length + 1) : null
}
