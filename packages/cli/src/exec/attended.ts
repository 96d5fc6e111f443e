/**
 * A command that is attended from its start to its end: the server kills it when we are gone, and it waits for whoever reads slowly.
 *
 * Its output comes as text. What is not UTF-8 would be replaced on the way, so a run that printed such a thing into a file or a pipe is
 * told as a failure.
 */
import type { ExecOptions, Holdfast } from '@holdfast/sdk'
import { EXIT_OWN_FAILURE } from '../exit-code.ts'
import { note } from '../failure.ts'
import { write } from '../output/print.ts'
import { startSpinner } from '../spinner.ts'
import { commandEnd } from '../terminal/terminal-end.ts'
import type { StopSignals } from './stop-signals.ts'

export async function attended(holdfast: Holdfast, options: ExecOptions, stop: StopSignals): Promise<number> {
  const spinner = startSpinner('making the session ready')
  const passed = { bytes: 0, isDoubtful: false }
  const pass = (output: NodeJS.WriteStream) => (text: string) => {
    passed.bytes += Buffer.byteLength(text)
    passed.isDoubtful ||= !output.isTTY && text.includes('\uFFFD')
    return write(text, output)
  }
  const result = await holdfast
    .exec({
      ...options,
      signal: stop.leaving,
      onStdout: pass(process.stdout),
      onStderr: pass(process.stderr),
      onStarted({ executionId, session }) {
        spinner.stop()
        if (session.notice !== null) note(session.notice)
        stop.onStop(async () => (await holdfast.sessions.get(session.id)).commands.kill(executionId))
      },
    })
    .finally(spinner.stop)
  if (passed.isDoubtful && (await printedBytes(holdfast, result.session.id, result.executionId)) !== passed.bytes) {
    note('it printed bytes that are no text, and they were replaced; copy files with `holdfast cp`')
    return EXIT_OWN_FAILURE
  }
  return commandEnd(result)
}

async function printedBytes(holdfast: Holdfast, sessionId: string, executionId: string): Promise<number> {
  const session = await holdfast.sessions.get(sessionId)
  return (await (await session.commands.connect(executionId)).get()).outputSeq
}
