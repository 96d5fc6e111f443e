/**
 * A caller's limits laid over the server's defaults.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
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
