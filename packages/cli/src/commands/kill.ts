/** `holdfast kill`: ends a command or a process with everything it started, or sends it a signal. */
import type { Command } from 'commander'
import { openClient } from '../client.ts'
import { findExecution, isExecutionId } from '../find-execution.ts'
import { findSession } from '../find-session.ts'
import { withOutput } from '../flags/output-flags.ts'
import { duration } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { takeSession, withSession } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import { killedRows } from './sessions.ts'

interface KillFlags extends ServerFlags, OutputFlags, SessionFlags {
  readonly grace?: number
  readonly signal?: string
}

export function addKill(program: Command): void {
  const kill = program
    .command('kill')
    .description('end a command or a process with everything it started')
    .argument('<names...>', 'the session, then the execution’s id or the process’s name')
    .usage('[options] <session> <execution|process>')
    .option('--grace <time>', 'between asking it to end and killing it, such as 5s', duration)
    .option('--signal <name>', 'only send this signal, such as SIGHUP')
    .addHelpText(
      'after',
      `
Examples:
  holdfast kill demo exe_4k2m…
  holdfast kill demo web --grace 10s
  holdfast kill demo web --signal SIGHUP

A process is not started again after this; one that only got a signal and ends of it is, if it is to be.`,
    )
  withServer(withOutput(withSession(kill))).action(async (names: readonly string[], flags: KillFlags) => {
    const { name, rest } = takeSession(names, flags, ['execution'])
    const session = await findSession(await openClient(flags), name)
    const named = rest[0] ?? ''
    const execution = await findExecution(session, named)
    if (flags.signal !== undefined) return execution.signal(flags.signal)
    const options = { graceMs: flags.grace === undefined ? undefined : flags.grace * 1000 }
    // A process that waits to be started again has no execution to kill, and is over all the same.
    const killed = await (isExecutionId(named) ? execution.kill(options) : session.processes.stop(named, options))
    await printOne(killed, { rows: killedRows, idOf: () => execution.id }, flags)
  })
}
