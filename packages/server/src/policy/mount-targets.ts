/**
 * Where a mount may appear inside, and how several get along.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import { posix } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { Mount } from '../sandboxes/spec.ts'

const ALLOWED_ROOTS = ['/workspace', '/mnt', '/opt', '/srv', '/data', '/home/user']
/** Their content is the session's; a mount may lie inside another only here. */
const NESTING_ROOTS = ['/workspace', '/home/user']
const MAX_TARGET_BYTES = 1024

/** The mounts sorted parents first. Throws `mount_refused`. */
export function checkTargets(mounts: readonly Mount[]): readonly Mount[] {
  for (const { target } of mounts) checkTarget(target)
  const sorted = mounts.toSorted((a, b) => (a.target < b.target ? -1 : a.target > b.target ? 1 : 0))
  for (const [index, mount] of sorted.entries()) {
    for (const earlier of sorted.slice(0, index)) checkPair(earlier.target, mount.target)
  }
  return sorted
}

function checkTarget(target: string): void {
  const refuse = (why: string): never => {
    throw new HoldfastError('mount_refused', `nothing can be mounted at '${target}': ${why}`, { target })
  }
  // Control characters, NUL among them: no tool that lists mounts would show such a path as it is.
  if (/\p{Cc}/u.test(target)) refuse('the path contains a control character')
  if (Buffer.byteLength(target) > MAX_TARGET_BYTES) refuse(`the path is longer than ${MAX_TARGET_BYTES} bytes`)
  if (!target.startsWith('/')) refuse('the path is not absolute')
  if (posix.normalize(target) !== target || (target.endsWith('/') && target !== '/')) refuse(`write it as '${posix.resolve(target)}'`)
  if (!ALLOWED_ROOTS.some((root) => isWithin(target, root))) refuse(`it must be in one of ${ALLOWED_ROOTS.join(', ')}`)
}

function checkPair(earlier: string, later: string): void {
  if (earlier === later) throw new HoldfastError('mount_refused', `two mounts have the same target '${later}'`, { target: later })
  if (isWithin(later, earlier) && !NESTING_ROOTS.some((root) => isWithin(earlier, root))) {
    throw new HoldfastError(
      'mount_refused',
      `the mount at '${later}' would hide a part of the one at '${earlier}'; only ${NESTING_ROOTS.join(' and ')} may hold other mounts`,
      { target: later },
    )
  }
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`)
}
