/** The command line's process: parse, run, one sentence and an exit code when something is wrong. */
import { isHoldfastError } from '@holdfast/protocol'
import { CommanderError } from 'commander'
import { EXIT_BROKEN_PIPE, EXIT_OWN_FAILURE, exitCodeOfFailure } from './exit-code.ts'
import { createProgram } from './program.ts'

// A reader that has seen enough (`| head`) ends us quietly, as it ends every other program.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(EXIT_BROKEN_PIPE)
})

try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

function report(error: unknown): number {
  // Commander has already written its own sentence; help and version are no failures.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_OWN_FAILURE
  if (!isHoldfastError(error)) throw error
  process.stderr.write(`holdfast: ${error.message}\n`)
  return exitCodeOfFailure(error)
}
