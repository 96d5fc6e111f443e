/**
 * What sessions of Box clients may show of the host beyond what everybody may: the directory of their workspace.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { join } from 'node:path'
import { ARTIFACTS_PATH } from '@holdfast/protocol/box'
import { serverMount } from '../../../policy/mounts.ts'
import type { OwnersPlaces } from '../../../policy/session-mounts.ts'
import { makeShownArtifacts } from './artifacts.ts'
import { namespaceOfOwner } from './box-callers.ts'

export const TENANTS_DIRECTORY = 'tenants'

/** Where the directories of workspaces are. */
export interface HostRoot {
  readonly path: string
  /** The operator chose it for what clients share with the host: what lies in it is theirs to show. */
  readonly isShared: boolean
}

export function hostRootOf(home: string, configured: string | null): HostRoot {
  return { path: configured ?? join(home, 'box'), isShared: configured !== null }
}

/** The workspace's own directory below the root. */
export function tenantDirectory({ path }: HostRoot, namespace: string): string {
  return join(path, TENANTS_DIRECTORY, namespace)
}

/** `storageOf`: of a session. */
export function ownersPlaces(root: HostRoot, storageOf: (sessionId: string) => string): OwnersPlaces {
  return {
    rootsOf: (owner) => (root.isShared && namespaceOfOwner(owner) !== null ? [root.path] : []),
    placeOf(owner) {
      const namespace = namespaceOfOwner(owner)
      return namespace === null ? null : tenantDirectory(root, namespace)
    },
    async mountsOf(owner, sessionId) {
      if (namespaceOfOwner(owner) === null) return []
      return [await serverMount(await makeShownArtifacts(storageOf(sessionId)), ARTIFACTS_PATH, 'ro')]
    },
  }
}
