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
import type { Limits, Mount, SandboxSpec } from '../sandboxes/spec.ts'
import { limitsFor } from './limits.ts'

export interface PolicyDefaults {
  readonly image: string
  readonly network: 'off' | 'on'
  readonly limits: Limits
  /** Whether the chosen backend runs images. */
  readonly hasImages: boolean
}

export interface SandboxPolicy {
  /** `mounts` are already checked: made by the server, or passed by `checkMounts`. */
  specFor(wish: SandboxWish, mounts: readonly Mount[]): SandboxSpec
}

export function sandboxPolicy(defaults: PolicyDefaults): SandboxPolicy {
  return {
    specFor: (wish, mounts) => ({
      image: wish.image ?? (defaults.hasImages ? defaults.image : null),
      network: wish.network ?? defaults.network,
      rootfs: 'read-only',
      mounts,
      limits: limitsFor(wish.limits, defaults.limits),
    }),
  }
}
