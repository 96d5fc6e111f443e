/**
 * Files that come with a message and files that go back with the answer, carried through commands in the message's own session.
 *
 * They never touch paths of the host, so what a sandbox puts there, links among it, leads nowhere else. The image needs `sh`, `base64`,
 * `dd`, `find` and `wc`. Everything is bounded, and what is left out is told.
 */
import { BoxError } from '@holdfast/protocol/box'
import type { BoxExecutionResult } from '@holdfast/protocol/box'

export const INBOX = '/workspace/inbox'
export const OUTBOX = '/workspace/outbox'
const MAXIMUM_FILES = 20
const MAXIMUM_FILE_BYTES = 10 * 1024 * 1024
const MAXIMUM_TOTAL_BYTES = 50 * 1024 * 1024
/** A command line holds 128 KiB, and base64 makes four bytes of three. */
const SENT_BYTES = 60 * 1024
/** A server keeps the first MiB of a stream. */
const READ_BYTES = 512 * 1024

export interface BoxFile {
  readonly name: string
  readonly bytes: Uint8Array
}

export interface Outbound {
  readonly files: readonly BoxFile[]
  /** Too large, or too many. */
  readonly leftOut: readonly string[]
}

/** A command in the session of one message. */
export type RunCommand = (command: string) => Promise<BoxExecutionResult>

/** Gives the paths inside the sandbox. */
export async function putInbound(run: RunCommand, key: string, files: readonly BoxFile[]): Promise<readonly string[]> {
  checkSizes(files)
  const directory = `${INBOX}/${plainName(key)}`
  const names = files.map(({ name }, index) => plainName(name, `file-${index + 1}`))
  const paths = names.map((name, index) => `${directory}/${names.indexOf(name) === index ? name : `${index + 1}-${name}`}`)
  await successful(run, `rm -rf ${quoted(directory)} && mkdir -p ${quoted(directory)}`)
  for (const [index, { bytes }] of files.entries()) {
    const path = quoted(paths[index] ?? directory)
    await successful(run, `: > ${path}`)
    for (let at = 0; at < bytes.length; at += SENT_BYTES) {
      const piece = Buffer.from(bytes.subarray(at, at + SENT_BYTES)).toString('base64')
      await successful(run, `printf %s ${piece} | base64 -d >> ${path}`)
    }
  }
  return paths
}

/** Takes what the command left in its outbox, and empties it. */
export async function takeOutbound(run: RunCommand, key: string): Promise<Outbound> {
  const directory = quoted(`${OUTBOX}/${plainName(key)}`)
  const listing = `[ -d ${directory} ] || exit 0; cd ${directory} && find . -type f -exec wc -c {} \\; | head -n 1000`
  const found = entriesOf((await successful(run, listing)).stdout)
  const files: BoxFile[] = []
  const leftOut: string[] = []
  let total = 0
  for (const { name, size } of found) {
    if (files.length >= MAXIMUM_FILES || size > MAXIMUM_FILE_BYTES || total + size > MAXIMUM_TOTAL_BYTES) {
      leftOut.push(name)
    } else {
      files.push({ name, bytes: await readWhole(run, `${OUTBOX}/${plainName(key)}/${name}`, size) })
      total += size
    }
  }
  await run(`rm -rf ${directory}`)
  return { files, leftOut }
}

async function readWhole(run: RunCommand, path: string, size: number): Promise<Uint8Array> {
  const pieces: Buffer[] = []
  for (let block = 0; block * READ_BYTES < size; block++) {
    const { stdout } = await successful(run, `dd if=${quoted(path)} bs=${READ_BYTES} skip=${block} count=1 2>/dev/null | base64`)
    pieces.push(Buffer.from(stdout, 'base64'))
  }
  // It may have changed since it was listed; never more than was counted.
  return Buffer.concat(pieces).subarray(0, size)
}

function entriesOf(listing: string): readonly { readonly name: string; readonly size: number }[] {
  return listing.split('\n').flatMap((line) => {
    const { size, name } = /^\s*(?<size>\d+) \.\/(?<name>.+)$/.exec(line)?.groups ?? {}
    return size === undefined || name === undefined ? [] : [{ name, size: Number(size) }]
  })
}

async function successful(run: RunCommand, command: string): Promise<BoxExecutionResult> {
  const result = await run(command)
  if (result.status === 'completed' && result.exit_code === 0) return result
  const why = result.status === 'timed_out' ? 'it took too long' : `exit code ${result.exit_code}: ${result.stderr.slice(0, 200)}`
  throw new BoxError('BoxError', `files could not be moved in or out of the sandbox: ${why}`)
}

function checkSizes(files: readonly BoxFile[]): void {
  const large = files.find(({ bytes }) => bytes.length > MAXIMUM_FILE_BYTES)
  if (large !== undefined) {
    throw new BoxError('BoxValidationError', `file "${large.name}" has ${large.bytes.length} bytes, above ${MAXIMUM_FILE_BYTES}`)
  }
  const total = files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (files.length > MAXIMUM_FILES || total > MAXIMUM_TOTAL_BYTES) {
    const bounds = `${MAXIMUM_FILES} files and ${MAXIMUM_TOTAL_BYTES} bytes`
    throw new BoxError('BoxValidationError', `${files.length} files with ${total} bytes are above ${bounds} of a message`)
  }
}

/** The last part of a name, without what could lead elsewhere. */
export function plainName(name: string, fallback = 'unknown'): string {
  const plain = (name.split(/[/\\]/).at(-1) ?? '')
    .replaceAll(/[^\p{L}\p{N}._ -]/gu, '_')
    .replace(/^\.+/, '')
    .slice(0, 100)
    .trim()
  return plain === '' ? fallback : plain
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
