/**
 * What went wrong, as a Box client is told it: a class it knows, and words that give nothing away.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Physical ids and the server's own directories do not leave the server, and no message contains the words of another class.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import { errorMessage, isBoxError } from '@holdfast/protocol/box'
import type { BoxErrorClass } from '@holdfast/protocol/box'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'

/** Failures without a class of their own; all others are a plain `BoxError`. */
const CLASSES: Readonly<Partial<Record<ErrorCode, BoxErrorClass>>> = {
  invalid_request: 'BoxValidationError',
  mount_refused: 'BoxValidationError',
  capability_unsupported: 'BoxValidationError',
  image_missing: 'BoxValidationError',
  command_not_started: 'BoxValidationError',
  payload_too_large: 'BoxValidationError',
  file_not_found: 'BoxValidationError',
  file_exists: 'BoxValidationError',
  name_taken: 'BoxValidationError',
  session_incompatible: 'BoxSessionConflictError',
  not_found: 'BoxSessionNotFoundError',
  session_closed: 'BoxSessionNotFoundError',
  sandbox_gone: 'BoxSessionNotFoundError',
  process_unknown: 'BoxManagedProcessNotFoundError',
  execution_ended: 'BoxManagedProcessConflictError',
  capacity_exhausted: 'BoxCapacityExceededError',
  quota_exceeded: 'BoxCapacityExceededError',
  rate_limited: 'BoxCapacityExceededError',
  server_busy: 'BoxCapacityExceededError',
  backend_unavailable: 'BoxBackendUnavailableError',
  guest_unreachable: 'BoxBackendUnavailableError',
  session_unavailable: 'BoxBackendUnavailableError',
  server_stopping: 'BoxRuntimeUnavailableError',
  request_cancelled: 'BoxRuntimeUnavailableError',
  unauthorized: 'PermissionError',
  forbidden: 'PermissionError',
}

export function boxClassOf(error: unknown): BoxErrorClass {
  if (isBoxError(error)) return error.boxClass
  return isHoldfastError(error) ? (CLASSES[error.code] ?? 'BoxError') : 'BoxError'
}

export type FailureMessage = (error: unknown, action: string) => string

const PHYSICAL_PREFIX = /ws-[0-9a-f]{24}-g\d+-/g

export interface FailureNeeds {
  /** Directories of the server that no message names. */
  readonly privatePaths: readonly string[]
  readonly log: Log
}

/** What is no failure of ours is a bug: logged with its cause, and told without it. */
export function failureMessages({ privatePaths, log }: FailureNeeds): FailureMessage {
  return (error, action) => {
    if (!isHoldfastError(error)) {
      log.error('box-action-failed', { action, problem: errorText(error) })
      return errorMessage('BoxError', 'this is a bug of the server; its log has the cause')
    }
    const text = privatePaths.reduce((all, path) => all.replaceAll(path, '(server)'), error.message.replaceAll(PHYSICAL_PREFIX, ''))
    return errorMessage(boxClassOf(error), text)
  }
}
