/** The program without its verbs: its name, what it says about itself, and how it tells a mistake. */
import { Command, CommanderError } from 'commander'
import { VERSION } from './commands/version.ts'
import { EXIT_WRONG_USE } from './exit-code.ts'

export function bareProgram(): Command {
  return new Command('holdfast')
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
}

/** After a mistake: where to look. */
export function teachWhereHelpIs(command: Command, parents: readonly string[]): void {
  const path = [...parents, command.name()]
  command.showHelpAfterError(`  \`${path.join(' ')} --help\` shows how it is used.`)
  for (const child of command.commands) teachWhereHelpIs(child, path)
}
