/**
 * What fails because the client has left is no bug.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { ERRORS, HoldfastError, isHoldfastError } from '@holdfast/protocol'

/** A refusal is one all the same; what broke because it was left is told as that. */
export function unlessLeft(error: unknown, left: AbortSignal): unknown {
  if (!left.aborted || (isHoldfastError(error) && ERRORS[error.code].status < 500)) return error
  return new HoldfastError('request_cancelled', 'the caller left before the answer', {}, { cause: error })
}
