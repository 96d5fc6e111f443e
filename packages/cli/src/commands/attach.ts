/** `holdfast attach`: back to a terminal that was left, or to a command or process that runs without one. */
import { isHoldfastError } from '@holdfast/protocol/errors'
import type { Command } from 'commander'
import type { Execution, Session } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { findExecution } from '../find-execution.ts'
import { findSession } from '../find-session.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { takeSession, withSession } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { interruption } from '../interruption.ts'
import { note } from '../failure.ts'
import { write } from '../output/print.ts'
import { plainRead } from '../plain-read.ts'
import { endWith, runsCommand } from '../running.ts'
import { commandEnd, terminalEnd } from '../terminal/terminal-end.ts'
import { terminalSize, visit } from '../terminal/visit.ts'
import { tellGap } from './logs.ts'

interface AttachFlags extends ServerFlags, SessionFlags {
  readonly stdin: boolean
}

export function addAttach(program: Command): void {
  const attach = program
    .command('attach')
    .description('come back to a terminal, a command or a process that runs; ends with its exit code')
    .argument('<names...>', 'the session, then the execution’s id or the process’s name')
    .usage('[options] <session> <execution|process>')
    .option('--no-stdin', 'only look')
    .addHelpText(
      'after',
      `
Examples:
  holdfast attach demo exe_4k2m…
  echo quit | holdfast attach demo console

A terminal is left with ~. at the beginning of a line, everything else with Ctrl-C; it runs on.`,
    )
  runsCommand(withServer(withSession(attach))).action((names: readonly string[], flags: AttachFlags) => endWith(comeBack(names, flags)))
}

async function comeBack(names: readonly string[], flags: AttachFlags): Promise<number> {
  const { name, rest } = takeSession(names, flags, ['execution'])
  const session = await findSession(await openClient(flags), name)
  const execution = await findExecution(session, rest[0] ?? '')
  if (process.stdout.isTTY && flags.stdin) {
    const code = await atTerminal(session, execution, flags)
    if (code !== null) return code
  }
  return atStreams(execution, flags.stdin)
}

/** `null`: it has none. */
async function atTerminal(session: Session, { id }: Execution, flags: ServerFlags): Promise<number | null> {
  const size = terminalSize('attach')
  const { end_seq: printed } = await plainRead(flags, `/v1/sessions/${session.id}/executions/${id}/output`, { encoding: 'base64' })
  try {
    const exit = await visit((options) => session.pty.connect(id, { ...options, size }), typeof printed === 'number' ? printed : 0)
    return terminalEnd(exit, `holdfast attach ${session.id} ${id}`)
  } catch (error) {
    if (isHoldfastError(error, 'not_interactive')) return null
    throw error
  }
}

async function atStreams(execution: Execution, passStdin: boolean): Promise<number> {
  const stop = interruption()
  if (passStdin) type(execution, stop.signal)
  try {
    for await (const event of execution.output({ signal: stop.signal })) {
      if (event.type === 'gap') tellGap(event.skippedBytes)
      else if (event.type === 'exit') return commandEnd(event.record)
      else await write(event.bytes, event.type === 'stdout' ? process.stdout : process.stderr)
    }
  } catch (error) {
    stop.settle(error)
    note('left; it runs on')
  } finally {
    stop.end()
  }
  return Number(process.exitCode ?? 0)
}

/** Its stdin stays open for others when ours ends. */
function type(execution: Execution, signal: AbortSignal): void {
  const stdin: AsyncIterable<Buffer> = process.stdin
  const send = async () => {
    for await (const bytes of stdin) await execution.write(bytes, { signal, timeoutMs: Infinity })
  }
  send().catch((error: unknown) => {
    // One that takes no input is only looked at; its end is told by its exit.
    if (isHoldfastError(error) && !['not_interactive', 'execution_ended'].some((code) => error.code === code)) note(error.message)
  })
}
