/** `holdfast exec`: one command in a session of the server; streamed, with the command's exit code. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { RestartRules, StartOptions } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { attended } from '../exec/attended.ts'
import { inputOf } from '../exec/input.ts'
import { stopSignals } from '../exec/stop-signals.ts'
import { targetOf, useSession } from '../find-session.ts'
import { assignment, commandTimeOrNone, duration, restartRules } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { isNamedByFlags, namedSession, withSession, wrongUse } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { sandboxWish, withSandboxWish } from '../flags/wish-flags.ts'
import type { SandboxWishFlags } from '../flags/wish-flags.ts'
import { write } from '../output/print.ts'
import type { Format } from '../output/print.ts'
import { shellWord } from '../output/shell-word.ts'
import { endWith, runsCommand } from '../running.ts'
import { terminalEnd } from '../terminal/terminal-end.ts'
import { terminalSize, visit } from '../terminal/visit.ts'

interface ExecFlags extends ServerFlags, SessionFlags, SandboxWishFlags {
  readonly command?: string
  /** Milliseconds; `null`: none. */
  readonly timeout?: number | null
  readonly env?: Readonly<Record<string, string>>
  readonly workdir?: string
  readonly tty?: true
  readonly interactive?: true
  /** Commander's way to say `--no-stdin`. */
  readonly stdin: boolean
  readonly detach?: true
  readonly output: Format
  readonly name?: string
  readonly restart?: RestartRules
  /** Seconds. */
  readonly restartPause?: number
}

export function addExec(program: Command): void {
  const exec = program
    .command('exec')
    .description('run one command in a session, which is made if need be; ends with the command’s exit code')
    .argument('[argv...]', 'the program and its arguments, after --; before it the session, unless --session or --scope names it')
    .option('-c, --command <text>', 'a command line for /bin/sh, instead of a program and arguments')
    .option(
      '--timeout <seconds>',
      'kill the command after so long, or none; exit code 124 (default: 120, or what the profile says; none with -i, -t and -d)',
      commandTimeOrNone,
    )
    .option('-e, --env <name=value>', 'set an environment variable; may be repeated', assignment)
    .option('--workdir <directory>', 'working directory inside (default: the workspace)')
    .option('-i, --interactive', 'pass stdin also when it is a terminal (a pipe or file always is); with --detach: keep it open for attach')
    .option('--no-stdin', 'pass no stdin')
    .option('-t, --tty', 'run on a terminal')
    .option('-d, --detach', 'leave it running and print its id')
    .addOption(new Option('--name <process>', 'with --detach: as a process of this name, which lives until it is killed'))
    .addOption(
      new Option(
        '--restart <rule>',
        'with --name: start it again when it ends: no, always, on-failure, or on-failure:5 for five times',
      ).argParser(restartRules),
    )
    .option('--restart-pause <time>', 'before the first restart (default: 1s); twice as long before each further one, up to 30s', duration)
    .addOption(
      new Option('-o, --output <format>', 'json or yaml: one document at its end, with output, exit code and ids')
        .choices(['table', 'json', 'yaml'])
        .default('table'),
    )
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Examples:
  holdfast exec demo -- python3 -c 'print(6*7)'
  holdfast exec -s demo -e LANG=C -o json -- ls -l
  holdfast exec -s demo -c 'echo hello > note.txt; cat note.txt'
  holdfast exec --scope chat --var launcher_type=group --var launcher_id=123456 -- ls -l
  echo 'print(6*7)' | holdfast exec -s demo -- python3 -
  holdfast exec -s demo -t -- htop
  holdfast exec -s demo --detach --name web -- python3 -m http.server 8000
  holdfast exec -s demo -d --name bot --restart on-failure:5 --restart-pause 2s -- python3 bot.py

Ctrl-C kills the command; a second Ctrl-C leaves at once. When the server is restarted meanwhile, the command runs on and its output
follows; what was piped into it and not yet sent is lost then, and so is the command.
Exit code: the command’s own; 128+n when signal n ended it; 124 timed out; 125 holdfast itself failed;
126 the program could not be started; 127 it was not found.`,
    )
  runsCommand(withServer(withSandboxWish(withSession(exec)))).action((argv: readonly string[], flags: ExecFlags) =>
    endWith(execute(argv, flags)),
  )
}

/** `exec demo -- ls` means `exec -s demo -- ls`. */
function sessionBefore(words: readonly string[], flags: ExecFlags): { readonly argv: readonly string[]; readonly session?: string } {
  const [session, separator, ...argv] = words
  if (isNamedByFlags(flags) || flags.pipeline !== undefined || session === undefined) return { argv: words }
  if (separator === '--') return { argv, session }
  const program = words.map(shellWord).join(' ')
  throw wrongUse(`name the session with -s: \`holdfast exec -s <session> -- ${program}\`, or write it before --`)
}

async function execute(words: readonly string[], flags: ExecFlags): Promise<number> {
  const { argv, session: before } = sessionBefore(words, flags)
  if ((argv.length === 0) === (flags.command === undefined))
    throw wrongUse('give either a program after -- or a command line with --command')
  if (flags.name !== undefined && flags.detach !== true) throw wrongUse('--name goes with --detach')
  if (flags.restart !== undefined && flags.name === undefined) throw wrongUse('--restart goes with --name')
  if (flags.restartPause !== undefined && flags.restart === undefined) throw wrongUse('--restart-pause goes with --restart')
  if (flags.detach === true && flags.tty === true)
    throw wrongUse('--detach and --tty do not go together; use `holdfast shell` and leave it with ~.')
  if (flags.output !== 'table' && (flags.detach === true || flags.tty === true))
    throw wrongUse('--output is about a command that is waited for; leave out --detach and --tty')
  const name = namedSession(before, flags)
  const size = flags.tty === true ? terminalSize('--tty') : null
  const command = flags.command ?? argv
  const wish = sandboxWish(flags)
  const options: StartOptions = { cwd: flags.workdir, env: flags.env, timeoutMs: flags.timeout ?? undefined }
  const holdfast = await openClient(flags)
  const stop = stopSignals()
  try {
    if (flags.detach === true) {
      const session = await useSession(holdfast, name, wish)
      const left = { ...options, interactive: flags.interactive }
      const started =
        flags.name === undefined
          ? (await session.commands.start(command, left)).id
          : (await session.processes.start(flags.name, command, { ...left, restart: restartOf(flags) })).executionId
      await write(`${started}\n`)
      return 0
    }
    if (size !== null) {
      const session = await useSession(holdfast, name, wish)
      const { id } = await session.commands.start(command, { ...options, terminal: size })
      stop.end()
      return terminalEnd(await visit((visiting) => session.pty.connect(id, { ...visiting, size })), `holdfast attach ${session.id} ${id}`)
    }
    const pieces = flags.stdin ? inputOf(flags.interactive === true) : null
    const target = await targetOf(
      holdfast,
      name,
      Object.values(wish).some((value) => value !== undefined),
    )
    const timeoutMs = flags.timeout === undefined && flags.interactive === true ? null : flags.timeout
    const asked = { ...target, ...wish, ...options, command, timeoutMs }
    const code = await attended(holdfast, asked, { pieces, stop, output: flags.output })
    return stop.exitCode ?? code
  } catch (error) {
    if (stop.exitCode !== null) return stop.exitCode
    throw error
  } finally {
    stop.end()
  }
}

function restartOf({ restart, restartPause }: ExecFlags): RestartRules | undefined {
  return restart === undefined || restartPause === undefined ? restart : { ...restart, backoffMs: restartPause * 1000 }
}
