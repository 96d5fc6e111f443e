/**
 * The error classes of the Box protocol: on the wire a class is the text before the first colon of a failure's message.
 *
 * A client looks for these words anywhere in the message, so a message never contains the words of another class.
 */
import { HoldfastError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'

/** Every class with the failure it is in Holdfast. Those a client knows come first, in the order in which it looks for them. */
const CODES = {
  BoxAdmissionError: 'forbidden',
  BoxReadinessError: 'backend_unavailable',
  BoxCapacityExceededError: 'capacity_exhausted',
  BoxValidationError: 'invalid_request',
  BoxSessionNotFoundError: 'not_found',
  BoxSessionConflictError: 'session_incompatible',
  BoxManagedProcessNotFoundError: 'process_unknown',
  BoxManagedProcessConflictError: 'invalid_state',
  BoxBackendUnavailableError: 'backend_unavailable',
  BoxRuntimeUnavailableError: 'server_stopping',
  BoxError: 'internal',
  PermissionError: 'forbidden',
  ValueError: 'invalid_request',
  KeyError: 'invalid_request',
  ValidationError: 'invalid_request',
} as const satisfies Record<string, ErrorCode>

export type BoxErrorClass = keyof typeof CODES

/** What a client tells apart, in the order in which it looks; all else is a plain `BoxError` to it. */
export const RECOVERED_CLASSES = [
  'BoxAdmissionError',
  'BoxReadinessError',
  'BoxCapacityExceededError',
  'BoxValidationError',
  'BoxSessionNotFoundError',
  'BoxSessionConflictError',
  'BoxManagedProcessNotFoundError',
  'BoxManagedProcessConflictError',
  'BoxBackendUnavailableError',
] as const satisfies readonly BoxErrorClass[]

/** A failure that has its class on the wire already. */
export class BoxError extends HoldfastError {
  readonly boxClass: BoxErrorClass

  constructor(boxClass: BoxErrorClass, message: string, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(CODES[boxClass], message, details, options)
    this.boxClass = boxClass
  }
}

/** Compares the shape, not the class, so that two copies of this package in one tree do no harm. */
export function isBoxError(error: unknown, boxClass?: BoxErrorClass): error is BoxError {
  if (!(error instanceof Error) || !('boxClass' in error)) return false
  return boxClass === undefined || error.boxClass === boxClass
}

/** Of the text behind the class; what is longer ends with a mark. */
export const MAXIMUM_ERROR_TEXT = 4096

const QUOTED_CLASS = new RegExp(`(${Object.keys(CODES).join('|')}):`, 'g')

/** `BoxSessionNotFoundError: …` */
export function errorMessage(boxClass: BoxErrorClass, text: string): string {
  return `${boxClass}: ${plainErrorText(text)}`
}

/** The text of a failure, of bounded length and without words that a client would take for a class. */
export function plainErrorText(text: string): string {
  const plain = text.slice(0, MAXIMUM_ERROR_TEXT + 1).replaceAll(QUOTED_CLASS, '$1 ')
  return plain.length > MAXIMUM_ERROR_TEXT ? `${plain.slice(0, MAXIMUM_ERROR_TEXT).toWellFormed()}… (cut)` : plain
}

/** What a client makes of a failure's message. */
export function recoverError(message: string): BoxError {
  const found = RECOVERED_CLASSES.find((name) => message.includes(`${name}:`)) ?? 'BoxError'
  return new BoxError(found, message)
}
