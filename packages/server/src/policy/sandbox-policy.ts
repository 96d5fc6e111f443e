/**
 * What a caller wishes → the one `SandboxSpec` that a backend honours exactly.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * Values were checked against the wire schema at the edge; here defaults are filled in and the rules are applied that need to know the
 * backend: where it runs images, one is always named; where it shows the host's own `/usr`, a named image stays in the spec and the
 * backend refuses it, so that nobody gets another root than the one asked for.
 */
import type { SandboxWish } from '@holdfast/protocol'
import type { Limits, Mount, PackedUsers, SandboxSpec } from '../sandboxes/spec.ts'
import type { CompleteWish } from '../store/tables/sessions.ts'
import { limitsFor } from './limits.ts'

export interface PolicyDefaults {
  readonly image: string
  readonly network: 'off' | 'on'
  readonly limits: Limits
  /** Of all files in a session's workspace; `null` or left out: no bound. */
  readonly workspaceBytes?: number | null | undefined
  /** Whether the chosen backend runs images. */
  readonly hasImages: boolean
}

export interface SandboxPolicy {
  /** `mounts` are already checked: made by the server, or passed by `checkMounts`. */
  specFor(wish: SandboxWish, mounts: readonly Mount[], packed?: PackedUsers): SandboxSpec
  /** The wish with every field that it leaves open filled in, so that later defaults do not change what was agreed. */
  complete(wish: CompleteWish): CompleteWish
}

export function sandboxPolicy(defaults: PolicyDefaults): SandboxPolicy {
  const specFor = (wish: SandboxWish, mounts: readonly Mount[], packed?: PackedUsers): SandboxSpec => ({
    image: wish.image ?? (defaults.hasImages ? defaults.image : null),
    network: wish.network ?? defaults.network,
    rootfs: wish.rootfs ?? (wish.user === 'root' ? 'writable' : 'read-only'),
    ...(wish.user === 'root' ? { user: wish.user } : {}),
    mounts,
    limits: limitsFor(wish.limits, defaults.limits),
    ...(packed === undefined ? {} : { packed }),
    ...(typeof wish.limits?.workspace_bytes === 'number' ? { refusesReserving: true } : {}),
  })
  return {
    specFor,
    complete(wish) {
      const { image, network, rootfs, limits } = specFor(wish, [])
      const { cpus, memoryBytes, pids, tmpBytes, openFiles } = limits
      const asked = wish.limits?.workspace_bytes
      const workspaceBytes = asked === undefined ? (defaults.workspaceBytes ?? null) : asked
      return {
        ...wish,
        ...(image === null ? {} : { image }),
        ...{ network, rootfs, home: wish.home ?? 'persistent' },
        workspace: { ...wish.workspace, mode: wish.workspace?.mode ?? 'rw' },
        limits: {
          ...{ cpus, memory_bytes: memoryBytes, pids, tmp_bytes: tmpBytes, open_files: openFiles },
          ...(workspaceBytes === null ? {} : { workspace_bytes: workspaceBytes }),
        },
      }
    },
  }
}
