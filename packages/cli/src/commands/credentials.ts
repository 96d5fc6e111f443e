/** `holdfast credentials …`: secrets lent to one session. A value comes from stdin or a file, never from the command line. */
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { CredentialForm, CredentialRecord, RemovedCredential } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { localFailure } from '../copying/local-failure.ts'
import { findSession } from '../find-session.ts'
import { withOutput } from '../flags/output-flags.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { takeSession, withSession, wrongUse } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { printList, printOne } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import type { Column } from '../output/table.ts'
import { momentWords } from '../output/words.ts'

type Flags = ServerFlags & OutputFlags & SessionFlags

const nameOf = ({ name }: CredentialRecord) => name

export function addCredentials(program: Command): void {
  const credentials = program.command('credentials').alias('credential').description('secrets lent to one session')
  addPut(credentials)
  addList(credentials)
  addRemove(credentials)
}

function addPut(credentials: Command): void {
  interface PutFlags extends Flags {
    readonly file?: string
    readonly asFile?: true
    readonly keepOnSuspend?: true
  }
  const put = credentials
    .command('put')
    .description('lend a secret to a session, or replace it; commands that start from now on receive it')
    .argument('<names...>', 'the session, then the name of the environment variable')
    .usage('[options] <session> <NAME>')
    .option('-f, --file <path>', 'read the value from this file; from stdin unless given')
    .option('--as-file', 'the variable is the path of a file with the value; the value itself unless given')
    .option('--keep-on-suspend', 'it stays when the session is suspended')
    .addHelpText(
      'after',
      `
Examples:
  gh auth token | holdfast credentials put my-task GH_TOKEN
  holdfast credentials put my-task KUBECONFIG --as-file -f ~/.kube/config

A value is never taken from the command line, which others on this machine can read. One line feed at the end of a variable is left out.`,
    )
  withServer(withOutput(withSession(put))).action(async (names: readonly string[], flags: PutFlags) => {
    const { name, rest } = takeSession(names, flags, ['name'])
    const as = flags.asFile === true ? 'file' : 'env'
    const value = await readValue(flags.file, as)
    const session = await findSession(await openClient(flags), name)
    const onSuspend = flags.keepOnSuspend === true ? 'keep' : undefined
    await printOne(await session.credentials.put(rest[0] ?? '', value, { as, onSuspend }), { rows, idOf: nameOf }, flags)
  })
}

function addList(credentials: Command): void {
  const list = credentials
    .command('ls')
    .alias('list')
    .description('list the credentials of a session, without their values')
    .argument('[session]', 'its key or id, or use --scope')
    .addHelpText('after', `\nExample:\n  holdfast credentials ls my-task`)
  withServer(withOutput(withSession(list))).action(async (argument: string | undefined, flags: Flags) => {
    const { name } = takeSession(argument === undefined ? [] : [argument], flags, [])
    const session = await findSession(await openClient(flags), name)
    await printList(await session.credentials.list(), { columns: columns(Date.now()), idOf: nameOf }, flags)
  })
}

function addRemove(credentials: Command): void {
  const remove = credentials
    .command('rm')
    .description('end the commands that received a credential, and remove it')
    .argument('<names...>', 'the session, then the name')
    .usage('[options] <session> <NAME>')
    .option('--keep-running', 'leave those commands running, and print their ids')
    .addHelpText(
      'after',
      `\nExamples:\n  holdfast credentials rm my-task GH_TOKEN\n  holdfast credentials rm my-task GH_TOKEN --keep-running`,
    )
  withServer(withOutput(withSession(remove))).action(async (names: readonly string[], flags: Flags & { readonly keepRunning?: true }) => {
    const { name, rest } = takeSession(names, flags, ['name'])
    const session = await findSession(await openClient(flags), name)
    const removed = await session.credentials.remove(rest[0] ?? '', { keepRunning: flags.keepRunning })
    await printOne(removed, { rows: removedRows, idOf: (one) => one.name }, flags)
  })
}

async function readValue(file: string | undefined, as: CredentialForm): Promise<string> {
  if (file === undefined && process.stdin.isTTY) throw wrongUse('pipe the value into this command, or give a file with --file')
  const bytes = file === undefined ? await buffer(process.stdin) : await readFile(file).catch(localFailure)
  const text = bytes.toString('utf8')
  return as === 'env' ? text.replace(/\r?\n$/, '') : text
}

function columns(now: number): readonly Column<CredentialRecord>[] {
  return [
    { title: 'NAME', of: nameOf },
    { title: 'AS', of: ({ as }) => as },
    { title: 'BYTES', of: ({ bytes }) => `${bytes}` },
    { title: 'ON SUSPEND', of: ({ onSuspend }) => onSuspend },
    { title: 'CREATED', of: ({ createdAt }) => momentWords(createdAt, now) },
    { title: 'REPLACED', of: ({ replacedAt }) => momentWords(replacedAt, now) },
  ]
}

function rows({ name, as, path, bytes, onSuspend }: CredentialRecord) {
  return [
    ['name', name],
    ['as', path === null ? as : `${as} ${path}`],
    ['bytes', `${bytes}`],
    ['on suspend', onSuspend],
  ] as const
}

function removedRows({ name, ended, keptRunning }: RemovedCredential) {
  return [
    ['name', name],
    ['ended', ended.join(' ')],
    ['kept running', keptRunning.join(' ')],
  ] as const
}
