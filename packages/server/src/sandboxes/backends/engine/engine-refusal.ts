/**
 * What an engine's refusals mean.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { BackendNeeds } from '../../backend.ts'
import { refusalReason } from './engine-client.ts'

/** Nothing listens: certainly nothing was done. */
export function isAbsent(error: unknown): boolean {
  return error instanceof HoldfastError && ['ENOENT', 'ECONNREFUSED'].includes(String(error.details['errno']))
}

/** Gives the refusals that have a known meaning that meaning. */
export function explained(kind: string, needs: BackendNeeds, error: unknown): unknown {
  const reason = refusalReason(error)
  const details = { engine: kind }
  if (/rlimit/i.test(reason)) {
    return new HoldfastError('capability_unsupported', `${kind} may not set the limit of open files or processes: ${reason}`, details, {
      cause: error,
    })
  }
  if (!/bind source path does not exist|statfs .*no such file/i.test(reason)) return error
  if (reason.includes(needs.guestPath) || reason.includes(needs.stateDir)) {
    return new HoldfastError(
      'backend_unavailable',
      `${kind} does not see this server's files; does it run on another machine? ${reason}`,
      details,
      { cause: error },
    )
  }
  return new HoldfastError('mount_refused', `${kind} does not find what is to be mounted: ${reason}`, details, { cause: error })
}
