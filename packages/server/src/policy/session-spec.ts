/**
 * What a session's sandbox is to be, from its wish and from what it shows of the session's files.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import { realpath } from 'node:fs/promises'
import { HoldfastError } from '@holdfast/protocol'
import type { SandboxWish } from '@holdfast/protocol'
import type { ChosenBackend } from '../sandboxes/choose.ts'
import type { SandboxSpec } from '../sandboxes/spec.ts'
import type { Shown } from '../sessions/habitats.ts'
import { serverMount } from './mounts.ts'
import type { SandboxPolicy } from './sandbox-policy.ts'

/** Where processes are not limited. */
const PIDS_PER_UID = 256
/** What the guest needs beside each session's own: its supervisor, and one for each of some executions. */
const PIDS_BESIDE = 5

export interface SessionSpecs {
  specFor(wish: SandboxWish, shown: Shown): Promise<SandboxSpec>
  complete(wish: SandboxWish): SandboxWish
  /** Throws what the backend would refuse a session with this wish for. Makes nothing. */
  check(wish: SandboxWish, isPacked: boolean): Promise<void>
}

export function sessionSpecs(policy: SandboxPolicy, chosen: ChosenBackend, packedSessions: number): SessionSpecs {
  return {
    complete: policy.complete,
    async specFor(wish, shown) {
      if ('workspace' in shown) return policy.specFor(wish, [await serverMount(shown.workspace, '/workspace', 'rw')])
      const { pids } = policy.specFor(wish, []).limits
      const pidsPerUid = pids === null ? PIDS_PER_UID : Math.max(1, Math.floor((pids - 1) / packedSessions) - PIDS_BESIDE)
      return policy.specFor(wish, [], { ...shown.packed, source: await realpath(shown.packed.source), pidsPerUid })
    },
    async check(wish, isPacked) {
      const { backend, capabilities } = chosen
      if (isPacked && !capabilities.packing)
        throw new HoldfastError(
          'capability_unsupported',
          `${backend.kind} cannot pack sessions: ${capabilities.reasons.packing ?? 'it cannot be done here'}`,
          {
            capability: 'packing',
          },
        )
      await backend.check(policy.specFor(wish, []))
    },
  }
}
