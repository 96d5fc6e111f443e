/**
 * A caller's limits laid over the server's defaults.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { LimitsWish } from '@holdfast/protocol'
import type { Limits } from '../sandboxes/spec.ts'

/** `null` in the wish lifts a limit; a field that is left out keeps the default. */
export function limitsFor(wish: LimitsWish | undefined, defaults: Limits): Limits {
  if (wish === undefined) return defaults
  return {
    cpus: wish.cpus === undefined ? defaults.cpus : wish.cpus,
    memoryBytes: wish.memory_bytes === undefined ? defaults.memoryBytes : wish.memory_bytes,
    pids: wish.pids === undefined ? defaults.pids : wish.pids,
    tmpBytes: wish.tmp_bytes ?? defaults.tmpBytes,
    openFiles: wish.open_files ?? defaults.openFiles,
  }
}

/** Fields that bound what a sandbox takes of the kernel's counts per user, and the settings that an operator raises instead. */
const BOUNDING = [
  ['memoryBytes', 'memory_bytes', 'limits.memory'],
  ['pids', 'pids', 'limits.pids'],
  ['openFiles', 'open_files', 'limits.open_files'],
] as const

/**
 * For a server that is not root: its sandboxes have its own user, so a caller who raises a limit raises what one sandbox can take from the
 * server itself. Throws `capability_unsupported`. `given`: what a caller who asks for nothing gets.
 */
export function assertNotRaised(asked: Limits, given: Limits): void {
  for (const [name, field, setting] of BOUNDING) {
    const [wanted, most] = [asked[name], given[name]]
    if (most === null || (wanted !== null && wanted <= most)) continue
    throw new HoldfastError(
      'capability_unsupported',
      `limits.${field} ${wanted ?? 'none'} is more than ${most}: the server is not root, so sandboxes share its user and what the kernel counts for it; run the server as root, or raise the setting ${setting} or a profile of the operator`,
      { field: `limits.${field}`, most },
    )
  }
}
