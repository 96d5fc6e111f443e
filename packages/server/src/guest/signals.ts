/**
 * Linux signal names and numbers. The table is Linux's own, not the host's: the sandbox is Linux wherever the server runs.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { HoldfastError } from '@holdfast/protocol'

/** In the order of their numbers, from 1. */
const NAMES = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGILL',
  'SIGTRAP',
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGKILL',
  'SIGUSR1',
  'SIGSEGV',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGTERM',
  'SIGSTKFLT',
  'SIGCHLD',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGXCPU',
  'SIGXFSZ',
  'SIGVTALRM',
  'SIGPROF',
  'SIGWINCH',
  'SIGIO',
  'SIGPWR',
  'SIGSYS',
]
const ALIASES: Readonly<Record<string, number>> = { SIGIOT: 6, SIGPOLL: 29, SIGUNUSED: 31 }
const FIRST_REALTIME = 34
export const MAX_SIGNAL = 64

/** `SIGTERM` → 15; a number passes if Linux has such a signal. */
export function signalNumber(signal: string | number): number {
  const number = typeof signal === 'number' ? signal : NAMES.indexOf(signal) + 1 || ALIASES[signal]
  if (number === undefined || !Number.isInteger(number) || number < 1 || number > MAX_SIGNAL) {
    throw new HoldfastError('invalid_request', `there is no signal ${JSON.stringify(signal)} on Linux`, { signal })
  }
  return number
}

/** 15 → `SIGTERM`; real-time signals are `SIGRTMIN+n`. */
export function signalName(number: number): string {
  if (number >= FIRST_REALTIME) return `SIGRTMIN+${number - FIRST_REALTIME}`
  return NAMES[number - 1] ?? `SIG${number}`
}
