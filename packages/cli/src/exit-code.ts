/**
 * The exit code a shell sees.
 *
 * Verbs that ask the server: 1 when it refused or was not reached, 2 for wrong use. Verbs that run a command follow `docker run` and
 * `timeout`: the command's own code; 128 + n when signal n killed it; 124 when the time was up; 125 for our own failures; 126 for a
 * program that could not be started and 127 for one that is not there.
 */
import { constants } from 'node:os'
import { isFailure } from './failure.ts'

export const EXIT_REFUSED = 1
export const EXIT_WRONG_USE = 2
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
  return signal === null ? EXIT_OWN_FAILURE : exitCodeOfSignal(signal)
}

export function exitCodeOfSignal(name: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals
  return 128 + (numbers[name] ?? 0)
}

/** Whoever reads our output has seen enough. */
export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}

/** Of a verb that runs a command. */
export function exitCodeOfFailure(error: unknown): number {
  if (!isFailure(error) || error.code !== 'command_not_started') return EXIT_OWN_FAILURE
  const details = 'details' in error && typeof error.details === 'object' ? error.details : null
  return details !== null && 'errno' in details && details.errno === 'ENOENT' ? EXIT_NOT_FOUND : EXIT_NOT_STARTED
}

/** Found before anybody was asked: the configuration, an argument. */
const WRONG_USE = ['invalid_request', 'config_invalid', 'backend_unknown']

/** Of every other verb. */
export function exitCodeOfRefusal(error: unknown): number {
  if (!isFailure(error)) return EXIT_REFUSED
  const isAnswered = 'status' in error && error.status !== 0
  return WRONG_USE.includes(error.code) && !isAnswered ? EXIT_WRONG_USE : EXIT_REFUSED
}
