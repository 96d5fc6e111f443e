/** `holdfast sandboxes …`: what runs on the server, and one-off sandboxes without a server. */
import type { Command } from 'commander'
import type { SandboxRecord } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { note } from '../failure.ts'
import { withLimit, withOutput } from '../flags/output-flags.ts'
import type { LimitFlags } from '../flags/output-flags.ts'
import { repeated } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { printList, printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'
import { momentWords } from '../output/words.ts'
import { plainRead } from '../plain-read.ts'
import { endWith, runsCommand } from '../running.ts'
import type { SandboxRunOptions } from '../sandbox-run/sandbox-run.ts'

const idOf = ({ id }: SandboxRecord) => id

export function addSandboxes(program: Command): void {
  const sandboxes = program
    .command('sandboxes')
    .alias('sandbox')
    .description('what runs on the server, and one-off sandboxes without a server')
    .enablePositionalOptions()
  addList(sandboxes)
  addGet(sandboxes)
  addRun(sandboxes)
}

function addList(sandboxes: Command): void {
  const list = sandboxes
    .command('ls')
    .alias('list')
    .description('list the sandboxes of the server, newest first')
    .addHelpText('after', `\nExamples:\n  holdfast sandboxes ls\n  holdfast sandboxes ls -o json`)
  withServer(withOutput(withLimit(list))).action(async (flags: ServerFlags & OutputFlags & LimitFlags) => {
    const holdfast = await openClient(flags)
    const found = await holdfast.sandboxes({ pageSize: Math.min(200, flags.limit + 1) }).take(flags.limit + 1)
    await printList(found.slice(0, flags.limit), { columns: columns(Date.now()), idOf }, flags)
    if (found.length > flags.limit) note(`there are more than ${flags.limit}; --limit shows more`)
  })
}

function addGet(sandboxes: Command): void {
  const get = sandboxes
    .command('get')
    .description('look at a sandbox')
    .argument('<id>', 'its id, as `holdfast sandboxes ls` and `holdfast sessions get` show it')
    .addHelpText('after', `\nExample:\n  holdfast sandboxes get sbx_4k2m…`)
  withServer(withOutput(get)).action(async (id: string, flags: ServerFlags & OutputFlags) => {
    const found = await plainRead(flags, `/v1/sandboxes/${encodeURIComponent(id)}`, {})
    const rows = () =>
      Object.entries(found).map(
        ([name, value]) => [name.replaceAll('_', ' '), Array.isArray(value) ? value.join(', ') : String(value)] as const,
      )
    await printOne(found, { rows, idOf: () => id }, flags)
  })
}

function columns(now: number): readonly Column<SandboxRecord>[] {
  return [
    { title: 'ID', of: idOf },
    { title: 'BACKEND', of: ({ backend }) => backend },
    {
      title: 'STATE',
      of: ({ state }) => state,
      tint: ({ state }) => (state === 'ready' ? 'green' : state === 'quarantined' ? 'red' : 'yellow'),
    },
    { title: 'SESSIONS', of: ({ sessionCount, maxSessions }) => `${sessionCount} of ${maxSessions}` },
    { title: 'CREATED', of: ({ createdAt }) => momentWords(createdAt, now) },
    { title: 'OF', of: ({ sessions }) => sessions.join(', '), isFlexible: true },
  ]
}

function addRun(sandboxes: Command): void {
  const run = sandboxes
    .command('run')
    .description('create a sandbox without a server, run one command in it, remove it; ends with the command’s exit code')
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
  runsCommand(run).action(async (argv: readonly string[], options: SandboxRunOptions) => {
    const { sandboxRun } = await import('../sandbox-run/sandbox-run.ts')
    await endWith(sandboxRun(argv, options))
  })
}
