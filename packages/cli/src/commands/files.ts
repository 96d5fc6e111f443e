/** `holdfast files …`: look at the files of a session, and change them. */
import type { Command } from 'commander'
import type { FileEntry, Session } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { copyOut } from '../copying/copy-out.ts'
import { localFailure } from '../copying/local-failure.ts'
import { filePlace, insidePlace } from '../copying/places.ts'
import { note } from '../failure.ts'
import { findSession, useSession } from '../find-session.ts'
import { withFormat, withOutput } from '../flags/output-flags.ts'
import { wholeNumber } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { withSession, wrongUse } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { interruption } from '../interruption.ts'
import { fileColumns, fileRows } from '../output/file-table.ts'
import { printList, printOne, printPiece } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'

type Flags = ServerFlags & SessionFlags & OutputFlags

const PLACE = 'session:path; a path is absolute, or relative to the workspace'
const idOf = ({ path }: FileEntry) => path

export function addFiles(program: Command): void {
  const files = program
    .command('files')
    .description('look at the files of a session, and change them')
    .addHelpText(
      'after',
      `
Examples:
  holdfast files ls demo:
  holdfast files cat demo:results.csv
  holdfast files ls --scope chat --var launcher_type=group --var launcher_id=123456 :reports

A file is session:path. Where flags name the session it is :path.`,
    )
  addList(files)
  addCat(files)
  addPut(files)
  addRemove(files)
  addMove(files)
  addMakeDirectory(files)
  addStat(files)
  addWatch(files)
}

function addList(files: Command): void {
  const list = files
    .command('ls')
    .alias('list')
    .description('list a directory')
    .argument('<place>', PLACE)
    .option('--depth <levels>', 'how many levels of directories', wholeNumber(1, 100), 1)
    .option('-n, --limit <count>', 'at most so many', wholeNumber(1, 10_000), 1000)
    .addHelpText('after', `\nExamples:\n  holdfast files ls demo:\n  holdfast files ls demo:/etc --depth 2 -o json`)
  withServer(withOutput(withSession(list))).action(
    async (text: string, flags: Flags & { readonly depth: number; readonly limit: number }) => {
      const { session, path } = await opened(text, flags)
      const { items, truncated } = await session.files.list(path, { depth: flags.depth, limit: flags.limit })
      await printList(items, { columns: fileColumns(Date.now()), idOf }, flags)
      if (truncated) note(`there are more than ${flags.limit}; --limit shows more`)
    },
  )
}

function addCat(files: Command): void {
  const cat = files
    .command('cat')
    .description('print a file, byte for byte')
    .argument('<place>', PLACE)
    .addHelpText('after', `\nExamples:\n  holdfast files cat demo:notes.txt\n  holdfast files cat demo:plot.png > plot.png`)
  withServer(withSession(cat)).action(async (text: string, flags: ServerFlags & SessionFlags) => {
    const { session, path } = await opened(text, flags)
    const { type } = await session.files.stat(path, { follow: true })
    if (type === 'directory') throw wrongUse(`${path} is a directory; \`holdfast files ls\` lists it`)
    await interruptible((signal) => copyOut(session, path, '-', signal))
  })
}

function addPut(files: Command): void {
  interface PutFlags extends Flags {
    readonly append?: true
    readonly exclusive?: true
    readonly mode?: string
    readonly parents: boolean
  }
  const put = files
    .command('put')
    .description('write a file from stdin or from a file here')
    .argument('<place>', PLACE)
    .argument('[file]', 'a file here; stdin unless given')
    .option('--append', 'after what is there, instead of in its place')
    .option('--exclusive', 'fail when there is something already')
    .option('--mode <bits>', 'of the file, such as 0755')
    .option('--no-parents', 'fail when the directory is missing, instead of making it')
    .addHelpText(
      'after',
      `\nExamples:\n  date | holdfast files put demo:log.txt --append\n  holdfast files put demo:bin/run run.sh --mode 0755`,
    )
  withServer(withOutput(withSession(put))).action(async (text: string, file: string | undefined, flags: PutFlags) => {
    const { createReadStream } = await import('node:fs')
    const place = filePlace(text, flags)
    const session = await useSession(await openClient(flags), place.session)
    const source: AsyncIterable<Uint8Array> = file === undefined || file === '-' ? process.stdin : createReadStream(file)
    const { append, exclusive, mode, parents } = flags
    await interruptible(async (signal) => {
      const readable = readLocal(source)
      const entry = await session.files
        .write(place.path, ReadableStream.from(readable.bytes), { append, exclusive, mode, parents, signal })
        .catch((error: unknown) => {
          throw readable.failure() ?? error
        })
      await printOne(entry, { rows: fileRows, idOf }, flags)
    })
    process.stdin.destroy()
  })
}

/** A failure here must not be told as one of the server's. */
function readLocal(source: AsyncIterable<Uint8Array>): { readonly bytes: AsyncIterable<Uint8Array>; failure(): unknown } {
  let failed: unknown = null
  async function* read(): AsyncGenerator<Uint8Array, void, void> {
    try {
      yield* source
    } catch (error) {
      try {
        localFailure(error)
      } catch (told) {
        failed = told
        throw told
      }
    }
  }
  return { bytes: read(), failure: () => failed }
}

function addRemove(files: Command): void {
  const remove = files
    .command('rm')
    .description('remove a file, or a directory with everything in it')
    .argument('<place>', PLACE)
    .option('-r, --recursive', 'a directory with everything in it')
    .addHelpText('after', `\nExamples:\n  holdfast files rm demo:old.csv\n  holdfast files rm -r demo:build`)
  withServer(withSession(remove)).action(async (text: string, flags: ServerFlags & SessionFlags & { readonly recursive?: true }) => {
    const { session, path } = await opened(text, flags)
    await session.files.remove(path, { recursive: flags.recursive })
  })
}

function addMove(files: Command): void {
  const move = files
    .command('mv')
    .description('move or rename within a session')
    .argument('<place>', PLACE)
    .argument('<to>', 'the new path')
    .option('--parents', 'make the directories above the new path')
    .option('--exclusive', 'fail when there is something already')
    .addHelpText('after', `\nExample:\n  holdfast files mv demo:draft.md reports/final.md --parents`)
  withServer(withOutput(withSession(move))).action(
    async (text: string, to: string, flags: Flags & { readonly parents?: true; readonly exclusive?: true }) => {
      const target = insidePlace(to, flags)
      const { session, path, name } = await opened(text, flags)
      if (target !== null && JSON.stringify(target.session) !== JSON.stringify(name))
        throw wrongUse('both must be in one session; `holdfast cp` copies between a session and here')
      const { parents, exclusive } = flags
      const entry = await session.files.move(path, target === null ? to.replace(/^:/, '') : target.path, { parents, exclusive })
      await printOne(entry, { rows: fileRows, idOf }, flags)
    },
  )
}

function addMakeDirectory(files: Command): void {
  const make = files
    .command('mkdir')
    .description('make a directory')
    .argument('<place>', PLACE)
    .option('-p, --parents', 'those above it too; one that is there is fine')
    .option('--mode <bits>', 'such as 0755')
    .addHelpText('after', `\nExample:\n  holdfast files mkdir -p demo:reports/2026`)
  withServer(withOutput(withSession(make))).action(
    async (text: string, flags: Flags & { readonly parents?: true; readonly mode?: string }) => {
      const { session, path } = await opened(text, flags)
      const entry = await session.files.makeDirectory(path, { parents: flags.parents, mode: flags.mode })
      await printOne(entry, { rows: fileRows, idOf }, flags)
    },
  )
}

function addStat(files: Command): void {
  const stat = files
    .command('stat')
    .description('look at a file or directory')
    .argument('<place>', PLACE)
    .option('-L, --follow', 'what a symbolic link points to')
    .addHelpText('after', `\nExample:\n  holdfast files stat demo:results.csv -o json`)
  withServer(withOutput(withSession(stat))).action(async (text: string, flags: Flags & { readonly follow?: true }) => {
    const { session, path } = await opened(text, flags)
    await printOne(await session.files.stat(path, { follow: flags.follow }), { rows: fileRows, idOf }, flags)
  })
}

function addWatch(files: Command): void {
  const watch = files
    .command('watch')
    .description('tell every change, until Ctrl-C')
    .argument('<place>', PLACE)
    .option('-r, --recursive', 'everything below, too')
    .addHelpText('after', `\nExamples:\n  holdfast files watch demo: -r\n  holdfast files watch demo:out -o json | jq -r .path`)
  withServer(withFormat(withSession(watch))).action(async (text: string, flags: Flags & { readonly recursive?: true }) => {
    const { session, path } = await opened(text, flags)
    await interruptible(async (signal) => {
      const changes = await session.files.watch(path, { recursive: flags.recursive, signal })
      if (process.stderr.isTTY) note('watching; Ctrl-C ends it')
      for await (const change of changes) await printPiece(change, (one) => `${one.type.padEnd(8)}  ${one.path}`, flags)
    })
  })
}

/** One that exists. */
async function opened(text: string, flags: ServerFlags & SessionFlags) {
  const place = filePlace(text, flags)
  const session: Session = await findSession(await openClient(flags), place.session)
  return { session, path: place.path, name: place.session }
}

async function interruptible(act: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = interruption()
  try {
    await act(stop.signal)
  } catch (error) {
    stop.settle(error)
  } finally {
    stop.end()
  }
}
