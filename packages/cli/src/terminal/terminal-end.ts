/**
 * How a visit to a terminal ended, as words and an exit code.
 */
import type { CommandExit } from '@holdfast/sdk'
import { EXIT_OWN_FAILURE, exitCodeOf } from '../exit-code.ts'
import { note } from '../failure.ts'
import type { VisitEnd } from './visit.ts'

/** `again`: the command that comes back to it. */
export function terminalEnd(end: VisitEnd, again: string): number {
  if (typeof end === 'object') return commandEnd(end)
  // The cursor is wherever the program left it.
  process.stderr.write('\n')
  if (end === 'detached') {
    note(`detached; it runs on. Come back with: ${again}`)
    return 0
  }
  note(`left without an answer from the server, which ends it after half a minute unless you come back with: ${again}`)
  return EXIT_OWN_FAILURE
}

/** `found`: where its record is; given where nobody here asked for its end. */
export function commandEnd(
  { status, exitCode, signal }: Pick<CommandExit, 'status' | 'exitCode' | 'signal'>,
  found: { readonly sessionId: string; readonly executionId: string } | null = null,
): number {
  if (status === 'cancelled' && found !== null)
    note(
      `the command was cancelled, by a server that stopped or by somebody else; \`holdfast logs ${found.sessionId} ${found.executionId}\` has what it printed`,
    )
  if (status === 'lost') {
    note('contact with the sandbox was lost; how the command ended is not known')
    return EXIT_OWN_FAILURE
  }
  return exitCodeOf({ exitCode, signal, timedOut: status === 'timed_out' })
}
