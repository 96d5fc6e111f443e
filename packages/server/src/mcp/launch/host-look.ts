/**
 * What an MCP server's configuration may know of the host's files: what its caller may mount, and nothing else.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * A path that is refused and one that is not there look the same, so that nobody finds out what the host has by configuring servers.
 */
import { stat } from 'node:fs/promises'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { MountOwner, SessionMounts } from '../../policy/session-mounts.ts'

export type HostKind = 'file' | 'directory'

export interface HostLook {
  /** `null`: nothing that this caller may show to a box. */
  kind(path: string): Promise<HostKind | null>
  /** The same path without links in it. Throws `mount_refused` with the reason. */
  settle(path: string): Promise<string>
}

/** Any place that the rules have nothing against: only the source is asked about. */
const SOMEWHERE = '/mnt/project'

export function hostLook(mounts: SessionMounts, whose: MountOwner): HostLook {
  async function settle(path: string): Promise<string> {
    const [mount] = await mounts.of({ mounts: [{ source: path, target: SOMEWHERE, mode: 'ro' }] }, whose, [])
    if (mount === undefined) throw new HoldfastError('internal', 'a mount that was asked about has no answer')
    return mount.source
  }
  return {
    settle,
    async kind(path) {
      try {
        return (await stat(await settle(path))).isDirectory() ? 'directory' : 'file'
      } catch (error) {
        if (isHoldfastError(error, 'mount_refused')) return null
        throw error
      }
    },
  }
}
