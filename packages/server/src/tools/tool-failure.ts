/**
 * What a tool could not do, and who is told: the model, or whoever let it in.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * A model can act on a missing file or a sandbox that does not answer. That its host may not be here is not for the model to hear.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { ErrorCode, ToolFailure as ToldFailure } from '@holdfast/protocol'
import { FILE_ERRORS } from '../sessions/files/file-errors.ts'

/** Stays within this folder: it becomes a result. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure'
}

const FOR_THE_MODEL: ReadonlySet<ErrorCode> = new Set([
  ...FILE_ERRORS,
  'invalid_request',
  'payload_too_large',
  'command_not_started',
  'capability_unsupported',
  'image_missing',
  'session_busy',
  'session_unavailable',
  'invalid_state',
  'connection_refused',
  'backend_unavailable',
  'sandbox_gone',
  'guest_unreachable',
  'guest_protocol_violated',
])

/** The failure as a result; anything else is thrown on. */
export function toldFailure(error: unknown): ToldFailure {
  if (error instanceof ToolFailure || (isHoldfastError(error) && FOR_THE_MODEL.has(error.code))) return { ok: false, error: error.message }
  throw error
}

/** For work on skills and processes: a name that is missing or taken is an error for the model. */
export async function toldOfNames<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isHoldfastError(error, 'not_found') || isHoldfastError(error, 'name_taken')) throw new ToolFailure(error.message, { cause: error })
    throw error
  }
}
