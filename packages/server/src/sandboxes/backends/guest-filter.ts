/**
 * Which system calls the guest takes from commands beyond those that none may make, in the words of its command line.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { SandboxSpec } from '../spec.ts'

export function guestFilterFlags({ refusesReserving, mounts }: Pick<SandboxSpec, 'refusesReserving' | 'mounts'>): readonly string[] {
  // What is made there belongs to somebody else on the host.
  const sharesOwner = mounts.some(({ owner, mode }) => owner !== undefined && mode === 'rw')
  return [...(refusesReserving === true ? ['--refuse-reserving'] : []), ...(sharesOwner ? ['--refuse-set-id'] : [])]
}
