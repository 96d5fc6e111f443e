/**
 * What a client wishes of a session, as the sessions are asked for it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The names of the reference's own images mean the server's default one. Every limit that the client names is asked for as it is: what a
 * backend cannot keep, it refuses.
 */
import type { MountWish, SandboxWish } from '@holdfast/protocol'
import { DEFAULT_BOX_IMAGE } from '@holdfast/protocol/box'
import type { BoxSpec } from '@holdfast/protocol/box'
import type { SessionRequest } from '../../../sessions/getting.ts'

export const SESSION_TTL_SECONDS = 300
/** Ten years, the longest there is. */
const PERSISTENT_SECONDS = 315_360_000
const MEBIBYTE = 1024 * 1024
const LEAST_PIDS = 8
const DEFAULT_IMAGES: ReadonlySet<string> = new Set([DEFAULT_BOX_IMAGE, 'python:3.11-slim', ''])

/** `source`: the directory that the client's path means, `null` for the session's own. */
export function wishOf(spec: BoxSpec, source: string | null, mounts: readonly MountWish[], isImageIgnored = false): SandboxWish {
  const { image, network, cpus, memory_mb: memory, pids_limit: pids, workspace_quota_mb: quota } = spec
  return {
    ...(DEFAULT_IMAGES.has(image) || isImageIgnored ? {} : { image }),
    network,
    rootfs: spec.read_only_rootfs ? 'read-only' : 'writable',
    workspace: source === null ? {} : { source, mode: spec.host_path_mode, target: spec.mount_path },
    ...(mounts.length === 0 ? {} : { mounts }),
    limits: {
      cpus,
      memory_bytes: memory * MEBIBYTE,
      pids: Math.max(pids, LEAST_PIDS),
      workspace_bytes: quota === 0 ? null : quota * MEBIBYTE,
    },
  }
}

/** Whether the client names an image of its own choice. */
export function namesImage({ image }: BoxSpec): boolean {
  return !DEFAULT_IMAGES.has(image)
}

/** A session without work goes as soon as its client expects it to. */
export function timesOf({ persistent }: BoxSpec): NonNullable<SessionRequest['times']> {
  const idleSeconds = persistent ? PERSISTENT_SECONDS : SESSION_TTL_SECONDS
  return { idleMs: idleSeconds * 1000, onIdle: persistent ? 'suspend' : 'release', leaseMs: null, lifetimeMs: null }
}
