/**
 * Whether a live sandbox is what a caller asks for now.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SandboxWish } from '@holdfast/protocol'
import type { SandboxSpec } from '../sandboxes/spec.ts'

/** Only fields that the caller names are compared; throws `session_incompatible` naming those that differ. */
export function checkCompatible(wish: SandboxWish, spec: SandboxSpec): void {
  const { limits } = wish
  const differing = [
    ['image', wish.image, spec.image],
    ['network', wish.network, spec.network],
    ['limits.cpus', limits?.cpus, spec.limits.cpus],
    ['limits.memory_bytes', limits?.memory_bytes, spec.limits.memoryBytes],
    ['limits.pids', limits?.pids, spec.limits.pids],
    ['limits.tmp_bytes', limits?.tmp_bytes, spec.limits.tmpBytes],
    ['limits.open_files', limits?.open_files, spec.limits.openFiles],
  ].filter(([, wished, actual]) => wished !== undefined && wished !== actual)
  if (differing.length === 0) return
  const list = differing.map(([field, wished, actual]) => `${field} (${wished}, but the session has ${actual})`)
  throw new HoldfastError('session_incompatible', `the session is live with other values of ${list.join(', ')}`, {
    fields: differing.map(([field]) => field),
  })
}
