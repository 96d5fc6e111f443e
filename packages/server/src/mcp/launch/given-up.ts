/**
 * Work on a box that its caller gave up, as the one error that may leave this folder.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'

/** The caller's own reason where that is one for others to read. */
export function givenUp({ reason }: AbortSignal, what: string): HoldfastError {
  return isHoldfastError(reason) ? reason : new HoldfastError('request_cancelled', `${what} was given up`, {}, { cause: reason })
}
