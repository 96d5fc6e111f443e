/** The command line's process: parse, run, one sentence and an exit code when something is wrong. */
import { CommanderError } from 'commander'
import { inOrder, leadingFlags } from './argument-order.ts'
import { EXIT_BROKEN_PIPE, exitCodeOfRefusal, isBrokenPipe } from './exit-code.ts'
import { isFailure, tellFailure } from './failure.ts'
import { programFor } from './program-for.ts'

// A reader that has seen enough (`| head`) ends us quietly, as it ends every other program. A verb with more to do listens itself.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  if (process.stdout.listenerCount('error') === 1) process.exit(EXIT_BROKEN_PIPE)
})

try {
  const words = process.argv.slice(2)
  const program = await programFor(words[leadingFlags(words)])
  await program.parseAsync(inOrder(program, words), { from: 'user' })
} catch (error) {
  process.exitCode = report(error)
}

function report(error: unknown): number {
  // Commander has already written its own sentence; help and version are no failures.
  if (error instanceof CommanderError) return error.exitCode
  if (isBrokenPipe(error)) return EXIT_BROKEN_PIPE
  if (!isFailure(error)) throw error
  tellFailure(error)
  return exitCodeOfRefusal(error)
}
