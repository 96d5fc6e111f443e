/**
 * Verbs that run a command: their exit code is the command's, so every failure of ours is 125 or above.
 */
import { CommanderError } from 'commander'
import type { Command } from 'commander'
import { EXIT_BROKEN_PIPE, EXIT_OWN_FAILURE, exitCodeOfFailure, isBrokenPipe } from './exit-code.ts'
import { isFailure, tellFailure } from './failure.ts'

/** Also when it is used in a wrong way. */
export function runsCommand(command: Command): Command {
  return command.exitOverride((error) => {
    throw new CommanderError(error.exitCode === 0 ? 0 : EXIT_OWN_FAILURE, error.code, error.message)
  })
}

export async function endWith(run: Promise<number>): Promise<void> {
  process.exitCode = await run.catch(failed)
  // Whoever still writes to us must not keep us.
  process.stdin.destroy()
}

function failed(error: unknown): number {
  if (isBrokenPipe(error)) return EXIT_BROKEN_PIPE
  if (!isFailure(error)) throw error
  tellFailure(error)
  return exitCodeOfFailure(error)
}
