/**
 * The exit code a shell sees, by the conventions of `docker run` and `timeout`.
 *
 * The command's own code; 128 + n when signal n killed it; 124 when the time was up; 125 for our own failures; 126 for a
 * program that could not be started and 127 for one that is not there.
 */
import { constants } from 'node:os'
import { isHoldfastError } from '@holdfast/protocol'

export const EXIT_TIMED_OUT = 124
export const EXIT_OWN_FAILURE = 125
/** As a program that SIGPIPE killed. */
export const EXIT_BROKEN_PIPE = 141
const EXIT_NOT_STARTED = 126
const EXIT_NOT_FOUND = 127

export interface Ended {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
}

export function exitCodeOf({ exitCode, signal, timedOut }: Ended): number {
  if (timedOut) return EXIT_TIMED_OUT
  if (exitCode !== null) return exitCode
  return signal === null ? EXIT_OWN_FAILURE : 128 + signalNumber(signal)
}

export function exitCodeOfFailure(error: unknown): number {
  if (!isHoldfastError(error, 'command_not_started')) return EXIT_OWN_FAILURE
  return error.details['errno'] === 'ENOENT' ? EXIT_NOT_FOUND : EXIT_NOT_STARTED
}

function signalNumber(name: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals
  return numbers[name] ?? 0
}
