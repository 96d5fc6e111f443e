/**
 * One command of an installation: run in the box, told line by line, and judged.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Of what it prints only the end is kept, for the sentence that says why it failed.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { CommandEnd } from '../../sessions/executions/executions.ts'
import { TAIL_CHARACTERS, TextTail } from '../../sessions/processes/text-tail.ts'
import type { Running, Started } from '../../sessions/running.ts'
import type { FileTarget } from '../../sessions/session-files.ts'
import { givenUp } from './given-up.ts'
import { LineTeller, shown } from './progress.ts'
import type { OnProgress } from './progress.ts'

const WHAT = 'the installation of dependencies'

export interface InstallStep {
  /** For people: what runs. */
  readonly what: string
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** What to do when it fails. */
  hint(end: CommandEnd): string
}

/** The end of what it printed. Throws `dependencies_failed`. */
export async function runStep(
  commands: Pick<Running, 'run'>,
  { caller, sessionId, signal }: FileTarget,
  step: InstallStep,
  onLine: OnProgress,
): Promise<string> {
  const tail = new TextTail()
  const tellers = { stdout: new LineTeller(onLine), stderr: new LineTeller(onLine) }
  const { argv, cwd, env, timeoutMs } = step
  const attend = (started: Started) =>
    started.finish(({ channel, bytes }) => {
      tail.add(bytes)
      tellers[channel].add(bytes)
    })
  const end = await commands
    .run(caller, { id: sessionId }, { command: { argv, cwd, env, timeoutMs } }, signal, attend)
    .catch((error: unknown) => Promise.reject(signal.aborted ? givenUp(signal, WHAT) : error))
  if (signal.aborted) throw givenUp(signal, WHAT)
  const output = shown(wholeWords(tail.text()))
  if (end.status === 'completed' && end.exitCode === 0) return output
  throw failure(step, end, output)
}

/** A word that was cut is dropped: it may be the second half of a secret. */
function wholeWords(tail: string): string {
  return tail.length < TAIL_CHARACTERS - 1 ? tail : tail.replace(/^\S*/, '')
}

function failure({ what, hint }: InstallStep, end: CommandEnd, output: string): HoldfastError {
  const { status, exitCode, signal } = end
  const how =
    status !== 'completed' ? `was ${status.replace('_', ' ')}` : signal === null ? `ended with ${exitCode}` : `was killed by ${signal}`
  const last = output.split('\n').findLast((line) => line.trim() !== '') ?? ''
  const message = `the dependencies cannot be installed: ${what} ${how}${last === '' ? '' : ` (${last.trim().slice(0, 300)})`}; ${hint(end)}`
  return new HoldfastError('dependencies_failed', message, {
    ...{ phase: 'dep_install', step: what, exit_code: exitCode, output, hint: hint(end) },
  })
}
