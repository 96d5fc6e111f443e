/**
 * A failure of this machine's own file system, as one sentence.
 */
import { HoldfastError } from '@holdfast/protocol/errors'

export function localFailure(error: unknown): never {
  if (!(error instanceof Error) || !('code' in error)) throw error
  throw new HoldfastError('file_operation_failed', `on this machine: ${error.message}`, {}, { cause: error })
}
