/** Every verb, in the order in which help shows them. What a verb takes and does is in `commands/`. */
import { Command, CommanderError } from 'commander'
import { addAttach } from './commands/attach.ts'
import { addAudit } from './commands/audit.ts'
import { addBox } from './commands/box.ts'
import { addCompletion } from './commands/completion.ts'
import { addConfig } from './commands/config.ts'
import { addCopy } from './commands/cp.ts'
import { addDoctor } from './commands/doctor.ts'
import { addEvents } from './commands/events.ts'
import { addExec } from './commands/exec.ts'
import { addFiles } from './commands/files.ts'
import { addKeys } from './commands/keys.ts'
import { addKill } from './commands/kill.ts'
import { addLogs } from './commands/logs.ts'
import { addMcp } from './commands/mcp.ts'
import { addPs } from './commands/ps.ts'
import { addSandboxes } from './commands/sandboxes.ts'
import { addServerFacts } from './commands/server-facts.ts'
import { addSessions } from './commands/sessions.ts'
import { addShell } from './commands/shell.ts'
import { addSkills } from './commands/skills.ts'
import { addTenants } from './commands/tenants.ts'
import { addUp } from './commands/up.ts'
import { addVersion, VERSION } from './commands/version.ts'
import { addWebhooks } from './commands/webhooks.ts'
import { EXIT_WRONG_USE } from './exit-code.ts'

export function createProgram(): Command {
  const program = new Command('holdfast')
    .description('Gives every AI conversation its own sandbox, and gives it back.')
    .version(VERSION)
    .exitOverride((error) => {
      throw new CommanderError(error.exitCode === 0 ? 0 : EXIT_WRONG_USE, error.code, error.message)
    })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'holdfast: ')) })
    .addHelpText(
      'after',
      `
Examples:
  holdfast up                                       start the server on 127.0.0.1:5410
  holdfast doctor                                   what this machine can do, and how to fix what it cannot
  holdfast exec --session demo -- uname -a          one command in a session of the running server
  holdfast shell demo                               a terminal in it
  holdfast cp report.pdf demo:/workspace/           a file into it
  holdfast sessions ls                              which sessions there are
  holdfast sandbox run -- python3 -c 'print(6*7)'   one command in a fresh sandbox, without a server

Every verb has examples: holdfast <verb> --help`,
    )
    .enablePositionalOptions()

  program.commandsGroup('Server:')
  addUp(program)
  addBox(program)
  addDoctor(program)
  addConfig(program)
  program.commandsGroup('Work:')
  addExec(program)
  addShell(program)
  addPs(program)
  addLogs(program)
  addAttach(program)
  addKill(program)
  addCopy(program)
  addFiles(program)
  addMcp(program)
  program.commandsGroup('Sessions:')
  addSessions(program)
  addEvents(program)
  addSandboxes(program)
  addServerFacts(program)
  program.commandsGroup('Administration:')
  addKeys(program)
  addTenants(program)
  addWebhooks(program)
  addSkills(program)
  addAudit(program)
  program.commandsGroup('This program:')
  addCompletion(program)
  addVersion(program)
  teachWhereHelpIs(program, [])
  return program
}

/** After a mistake: where to look. */
function teachWhereHelpIs(command: Command, parents: readonly string[]): void {
  const path = [...parents, command.name()]
  command.showHelpAfterError(`  \`${path.join(' ')} --help\` shows how it is used.`)
  for (const child of command.commands) teachWhereHelpIs(child, path)
}
