/** `holdfast shell`: a terminal in a session. */
import type { Command } from 'commander'
import { openClient } from '../client.ts'
import { note } from '../failure.ts'
import { useSession } from '../find-session.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { namedSession, withSession } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { sandboxWish, withSandboxWish } from '../flags/wish-flags.ts'
import type { SandboxWishFlags } from '../flags/wish-flags.ts'
import { endWith, runsCommand } from '../running.ts'
import { terminalEnd } from '../terminal/terminal-end.ts'
import { terminalSize, visit } from '../terminal/visit.ts'

interface ShellFlags extends ServerFlags, SessionFlags, SandboxWishFlags {
  readonly command?: string
  readonly workdir?: string
}

export function addShell(program: Command): void {
  const shell = program
    .command('shell')
    .description('open a terminal in a session, which is made if need be; ends with the shell’s exit code')
    .argument('[session]', 'its id or key')
    .option('-c, --command <text>', 'a command line for /bin/sh instead of a login shell')
    .option('--workdir <directory>', 'working directory inside (default: the workspace)')
    .addHelpText(
      'after',
      `
Examples:
  holdfast shell demo
  holdfast shell --scope chat --var launcher_type=group --var launcher_id=123456
  holdfast shell demo -c 'tmux new -A -s main'

At the beginning of a line ~. leaves the shell running and detaches, ~? helps, ~~ is one ~.
A broken connection is made again; what was printed meanwhile is there.`,
    )
  runsCommand(withServer(withSandboxWish(withSession(shell)))).action((argument: string | undefined, flags: ShellFlags) =>
    endWith(visitShell(argument, flags)),
  )
}

/** A login shell whose prompt says where one is: `demo:/workspace$ `. What the sandbox's own start files set wins. */
export function loginShell(key: string): string {
  const name = key.replaceAll(/[^\w.@+-]/g, '_').slice(0, 40)
  return [
    `if command -v bash >/dev/null 2>&1; then PS1='${name}:\\w\\$ '; export PS1; exec bash -l; fi`,
    `PS1='${name}:$PWD$ '; export PS1; exec sh -l`,
  ].join('\n')
}

async function visitShell(argument: string | undefined, flags: ShellFlags): Promise<number> {
  const name = namedSession(argument, flags)
  const { cols, rows } = terminalSize('shell')
  const session = await useSession(await openClient(flags), name, sandboxWish(flags))
  const { notice } = session.record
  if (notice !== null) note(notice)
  const { command = loginShell(session.key), workdir: cwd } = flags
  let id = ''
  const exit = await visit(async (options) => {
    const terminal = await session.pty.create({ ...options, cols, rows, command, cwd })
    id = terminal.executionId
    return terminal
  })
  return terminalEnd(exit, `holdfast attach ${session.id} ${id}`)
}
