/** The commands and their flags, as help shows them. What a command does is in `commands/`, loaded when it is used. */
import { Command, Option } from 'commander'
import type { DoctorOptions } from './commands/doctor.ts'
import type { ExecOptions } from './commands/exec.ts'
import type { SandboxRunOptions } from './commands/sandbox-run.ts'

const repeated = (value: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), value]

export function createProgram(): Command {
  const program = new Command('holdfast')
    .description('Gives every AI conversation its own sandbox, and gives it back.')
    .version('0.1.0')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'holdfast: ')) })
    .addHelpText(
      'after',
      `
Examples:
  holdfast up                                       start the server on 127.0.0.1:5410
  holdfast doctor                                   what this machine can do, and how to fix what it cannot
  holdfast sandbox run -- python3 -c 'print(6*7)'   one command in a fresh sandbox
  holdfast exec --session demo -- uname -a          one command in a session of the running server`,
    )
    .enablePositionalOptions()

  addUp(program)
  addDoctor(program)
  addSandbox(program)
  addExec(program)
  addConfig(program)
  return program
}

function addUp(program: Command): void {
  program
    .command('up')
    .description('start the server; Ctrl-C ends it and removes its sandboxes')
    .option('--host <address>', 'address to listen on (default 127.0.0.1; beyond loopback only with a key)')
    .option('--port <port>', 'port to listen on (default 5410; 0 takes any free one)')
    .option('--backend <kind>', 'auto, podman, docker, nsjail or bubblewrap')
    .option('--image <name>', 'default image of the container backends')
    .option('--home <directory>', 'where the server keeps its state (default ~/.holdfast)')
    .option('--config <file>', 'configuration file (default <home>/holdfast.yaml)')
    .action(async (options: Readonly<Record<string, string>>) => (await import('./commands/up.ts')).up(options))
}

function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('what this machine can do, what is missing, and the command that fixes it')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['table', 'json']).default('table'))
    .action(async (options: DoctorOptions) => (await import('./commands/doctor.ts')).doctor(options))
}

function addSandbox(program: Command): void {
  const sandbox = program.command('sandbox').description('sandboxes without a server').enablePositionalOptions()
  sandbox
    .command('run')
    .description('create a sandbox, run one command in it, remove it; ends with the command’s exit code')
    .argument('<argv...>', 'the program and its arguments, after --')
    .option('--backend <kind>', 'auto, podman, docker, nsjail or bubblewrap')
    .option('--image <name>', 'image of the container backends')
    .option('--mount <source:target[:ro|rw]>', 'show a host directory inside, read-only unless :rw; may be repeated', repeated)
    .option('--network <on|off>', 'network of the sandbox (default off)')
    .option('--memory <size>', 'memory, e.g. 512m or 2g, or none (default 512m)')
    .option('--cpus <number>', 'processors, e.g. 0.5, or none (default 1)')
    .option('--pids <number>', 'processes, or none (default 128)')
    .option('--timeout <seconds>', 'kill the command after so long; exit code 124')
    .option('--env <name=value>', 'set an environment variable; may be repeated', repeated)
    .option('--workdir <directory>', 'working directory inside (default /workspace)')
    .option('-i, --interactive', 'pass stdin also when it is a terminal (a pipe or file always is)')
    .option('-t, --tty', 'run on a terminal')
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Examples:
  holdfast sandbox run -- echo hello
  echo 'print(6*7)' | holdfast sandbox run -- python3 -
  holdfast sandbox run --mount "$PWD:/workspace:rw" -- make test
  holdfast sandbox run --backend docker --image node:20-slim --memory 1g -- node --version
  holdfast sandbox run -it -- sh

Exit code: the command’s own; 128+n when signal n ended it; 124 timed out; 125 holdfast itself failed;
126 the program could not be started; 127 it was not found.`,
    )
    .action(async (argv: string[], options: SandboxRunOptions) => (await import('./commands/sandbox-run.ts')).sandboxRun(argv, options))
}

function addExec(program: Command): void {
  program
    .command('exec')
    .description('run one command in a session of the running server; ends with the command’s exit code')
    .argument('[argv...]', 'the program and its arguments, after --')
    .requiredOption('-s, --session <key>', 'the session: any text that names the conversation')
    .option('-c, --command <text>', 'a command line for /bin/sh, instead of a program and arguments')
    .option('--timeout <seconds>', 'kill the command after so long (default 30); exit code 124')
    .option('--env <name=value>', 'set an environment variable; may be repeated', repeated)
    .option('--workdir <directory>', 'working directory inside (default /workspace)')
    .option('--url <address>', 'the server (default HOLDFAST_URL, else the configured address)')
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Examples:
  holdfast exec --session demo -- python3 -c 'print(6*7)'
  holdfast exec --session demo -c 'echo hello > note.txt; cat note.txt'`,
    )
    .action(async (argv: string[], options: ExecOptions) => (await import('./commands/exec.ts')).exec(argv, options))
}

function addConfig(program: Command): void {
  program
    .command('config')
    .description('the configuration')
    .command('show')
    .description('print every setting that was given, with its value and source')
    .option('--effective', 'print all settings, defaults too')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['table', 'json']).default('table'))
    .action(async (options: { effective?: true; output: 'table' | 'json' }) =>
      (await import('./commands/config-show.ts')).configShow(options),
    )
}
