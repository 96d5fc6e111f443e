/**
 * Which system calls the guest takes from commands beyond those that none may make, in the words of its command line.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { SandboxSpec } from '../spec.ts'

export function guestFilterFlags({ refusesReserving }: Pick<SandboxSpec, 'refusesReserving'>): readonly string[] {
  return refusesReserving === true ? ['--refuse-reserving'] : []
}
