/**
 * The files of one package, for whoever edits it: listed, read and written, through no link.
 *
 * Stands beside the flow.
 */
import { lstat, rename, writeFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { randomId } from '../home/random-id.ts'
import { entriesOf, inside, openBelow, readText, withDirectory } from './directory-handle.ts'
import { MAXIMUM_TEXT_BYTES } from './read-package.ts'
import { namesOf } from './relative-path.ts'
import { shortened } from './skill.ts'

const DEFAULT_ENTRIES = 200
const MAXIMUM_ENTRIES = 1_000
const MAXIMUM_DIRECTORY_ENTRIES = 10_000

export interface SkillFile {
  /** From the top of the package. */
  readonly path: string
  readonly name: string
  readonly isDirectory: boolean
  /** Of a regular file. */
  readonly size: number | null
}

export interface SkillFiles {
  /** `.` for the top of the package. */
  readonly basePath: string
  readonly entries: readonly SkillFile[]
  readonly truncated: boolean
}

export interface ListWish {
  /** Also names that begin with a dot. */
  readonly includeHidden?: boolean | undefined
  /** 200 unless given; more than 1000 are never listed. */
  readonly maxEntries?: number | undefined
}

export async function listFiles(
  top: FileHandle,
  path: string,
  { includeHidden = false, maxEntries = DEFAULT_ENTRIES }: ListWish,
): Promise<SkillFiles> {
  if (!Number.isInteger(maxEntries) || maxEntries < 1)
    throw new HoldfastError('invalid_request', `max_entries: must be a whole number above 0, and is ${maxEntries}`)
  const names = namesOf(path)
  return withDirectory(openBelow(top, names), async (directory) => {
    const { entries, isTruncated } = await entriesOf(directory, MAXIMUM_DIRECTORY_ENTRIES)
    const visible = entries.filter(({ name }) => includeHidden || !name.startsWith('.'))
    const listed = visible.slice(0, Math.min(maxEntries, MAXIMUM_ENTRIES))
    return {
      basePath: names.length === 0 ? '.' : names.join('/'),
      entries: await Promise.all(
        listed.map(async (entry) => ({
          path: [...names, entry.name].join('/'),
          name: entry.name,
          isDirectory: entry.isDirectory(),
          size: entry.isFile() ? await sizeOf(directory, entry.name) : null,
        })),
      ),
      truncated: isTruncated || listed.length < visible.length,
    }
  }).catch((error: unknown) => tell(error, path))
}

async function sizeOf(directory: FileHandle, name: string): Promise<number | null> {
  try {
    return (await lstat(inside(directory, name))).size
  } catch (error) {
    // Gone since it was listed.
    if (hasErrorCode(error, 'ENOENT')) return null
    throw error
  }
}

export async function readFileOf(top: FileHandle, path: string): Promise<{ readonly path: string; readonly content: string }> {
  const { above, name, names } = fileNames(path)
  const content = await withDirectory(openBelow(top, above), (directory) => readText(directory, name, MAXIMUM_TEXT_BYTES)).catch(
    (error: unknown) => tell(error, path),
  )
  return { path: names.join('/'), content }
}

/** The old text or the new one, never a part: it is written in `making`, a directory of the server's, and then put in its place. */
export async function writeFileOf(
  top: FileHandle,
  path: string,
  content: string,
  making: string,
): Promise<{ readonly path: string; readonly bytesWritten: number }> {
  const { above, name, names } = fileNames(path)
  const bytes = Buffer.from(content)
  if (bytes.length > MAXIMUM_TEXT_BYTES)
    throw new HoldfastError('payload_too_large', `content: is larger than ${MAXIMUM_TEXT_BYTES} bytes (1 MiB)`, {
      limit_bytes: MAXIMUM_TEXT_BYTES,
    })
  await withDirectory(openBelow(top, above, true), async (directory) => {
    const draft = join(making, randomId('draft'))
    await writeFile(draft, bytes, { mode: await modeOf(directory, name), flag: 'wx' })
    // A link that has the name is replaced and not followed.
    await rename(draft, inside(directory, name))
  }).catch((error: unknown) => tell(error, path))
  return { path: names.join('/'), bytesWritten: bytes.length }
}

/** Of the file that is replaced. */
async function modeOf(directory: FileHandle, name: string): Promise<number> {
  const status = await lstat(inside(directory, name)).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return null
    throw error
  })
  if (status?.isDirectory() === true) throw new HoldfastError('invalid_request', `path: '${shortened(name)}' is a directory`)
  return status?.isFile() === true && (status.mode & 0o111) !== 0 ? 0o755 : 0o644
}

function fileNames(path: string) {
  const names = namesOf(path)
  const name = names.at(-1)
  if (name === undefined) throw new HoldfastError('invalid_request', `path: '${shortened(path)}' names no file`)
  return { names, name, above: names.slice(0, -1) }
}

function tell(error: unknown, path: string): never {
  if (hasErrorCode(error, 'ENOENT')) throw new HoldfastError('not_found', `the skill has no '${shortened(path)}'`, {}, { cause: error })
  if (hasErrorCode(error, 'ENOTDIR', 'ELOOP'))
    throw new HoldfastError(
      'invalid_request',
      `path: '${shortened(path)}' leads through something that is no directory`,
      {},
      { cause: error },
    )
  throw error
}
