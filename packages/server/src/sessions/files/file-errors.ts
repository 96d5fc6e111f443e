/**
 * What the sandbox's kernel says of a file → the failure that a caller can act on.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'

const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'file_not_found',
  EACCES: 'file_forbidden',
  EPERM: 'file_forbidden',
  EROFS: 'file_forbidden',
  EEXIST: 'file_exists',
  ENOSPC: 'no_space',
  EDQUOT: 'no_space',
}

/** Everything that can become of an operation on files. */
export const FILE_ERRORS = [
  'file_not_found',
  'file_forbidden',
  'file_exists',
  'file_operation_failed',
  'no_space',
] as const satisfies readonly ErrorCode[]

/** The failure by its errno; what has none stays what it is. */
export async function withFileErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw fileError(error)
  }
}

export function fileError(error: unknown): unknown {
  if (!isHoldfastError(error, 'file_operation_failed')) return error
  const code = CODES[String(error.details['errno'])]
  return code === undefined ? error : new HoldfastError(code, error.message, error.details, { cause: error })
}

export function failedWith(errno: string, message: string, details: Readonly<Record<string, unknown>> = {}): HoldfastError {
  return new HoldfastError(CODES[errno] ?? 'file_operation_failed', `${message} (${errno})`, { errno, ...details })
}
