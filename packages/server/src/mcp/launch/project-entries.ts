/**
 * What of a project is copied into a box: everything but the history, the caches and what is made anew there.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * The project may be where others write, so no link is followed: directories are held open, and each name is opened below the one before. The
 * list is bounded, and made before anything is copied, so that a project that is too large is refused whole.
 */
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { lstat, readlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../../home/error-code.ts'
import { entriesOf, inside, itself, openBelow, openDirectory } from '../../skills/directory-handle.ts'
import { isLeftOut, linkTarget } from './copy-rules.ts'
import { VENV_NAMES } from './virtual-environment.ts'

export const MAXIMUM_ENTRIES = 20_000
export const MAXIMUM_BYTES = 512 * 1024 * 1024
const MAXIMUM_DEPTH = 64
const MAXIMUM_NOTES = 20

export interface ProjectEntry {
  /** From the top of the project. */
  readonly names: readonly string[]
  readonly kind: 'directory' | 'file' | 'link'
  readonly mode: number
  readonly size: number
  /** Of a link: where it leads in the copy. */
  readonly target: string
}

export interface ProjectList {
  readonly entries: readonly ProjectEntry[]
  readonly files: number
  readonly bytes: number
  /** The same text as long as nothing changed that would be copied. */
  readonly mark: string
  /** What was left out that somebody may miss. */
  readonly notes: readonly string[]
}

/** `source` without links in it. `act` has the project open, for the same names are to be found in the same directories. */
export async function withProject<T>(source: string, act: (top: FileHandle, list: ProjectList) => Promise<T>): Promise<T> {
  const top = await openDirectory(source).catch((error: unknown) => Promise.reject(unreadable(source, error)))
  try {
    // Somebody may have put a link where a directory was when the rules were asked.
    if ((await readlink(itself(top))) !== source)
      throw new HoldfastError('mount_refused', `'${source}' was changed while it was looked at`, { path: source })
    const list = await listProject(top, source).catch((error: unknown) => Promise.reject(unreadable(source, error)))
    return await act(top, list)
  } finally {
    await top.close()
  }
}

/** What the host's kernel says of its own files is no reason to call this a bug. */
function unreadable(source: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error
  return new HoldfastError(
    'mount_refused',
    `the project '${source}' cannot be read (${String(error.code)})`,
    { path: source },
    { cause: error },
  )
}

async function listProject(top: FileHandle, source: string): Promise<ProjectList> {
  const entries: ProjectEntry[] = []
  const notes: string[] = []
  const hash = createHash('sha256')
  let [seen, files, bytes, unsaid] = [0, 0, 0, 0]
  await listBelow(top, [])
  if (unsaid > 0) notes.push(`and ${unsaid} more`)
  return { entries, files, bytes, mark: hash.digest('hex'), notes }

  function note(names: readonly string[], why: string): void {
    if (notes.length === MAXIMUM_NOTES) unsaid += 1
    else notes.push(`'${names.join('/').slice(0, 200)}' is not copied: ${why}`)
  }

  async function listBelow(directory: FileHandle, above: readonly string[]): Promise<void> {
    const { entries: found, isTruncated } = await entriesOf(directory, MAXIMUM_ENTRIES - seen)
    seen += found.length
    if (isTruncated) throw tooLarge(source, `has more than ${MAXIMUM_ENTRIES} entries`)
    if (above.length === MAXIMUM_DEPTH) throw tooLarge(source, `is more than ${MAXIMUM_DEPTH} directories deep`)
    for (const { name } of found) {
      if (!isLeftOut(name, above.length)) await listOne(directory, [...above, name], name)
    }
  }

  async function listOne(directory: FileHandle, names: readonly string[], name: string): Promise<void> {
    const status = await statusIn(directory, name)
    if (status === null) return
    if (status.isDirectory()) return listDirectory(directory, names, name, status)
    if (status.isFile()) return take({ names, kind: 'file', mode: modeOf(status), size: Number(status.size), target: '' }, status)
    if (!status.isSymbolicLink()) return note(names, 'it is neither a file nor a directory')
    const target = linkTarget(names, await readlink(inside(directory, name)), source)
    if (target === null) return note(names, 'it is a link that leads out of the project')
    take({ names, kind: 'link', mode: 0o777, size: 0, target }, status)
  }

  async function listDirectory(directory: FileHandle, names: readonly string[], name: string, status: BigIntStats): Promise<void> {
    const child = await openBelow(directory, [name]).catch((error: unknown) => {
      if (hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return null
      throw error
    })
    if (child === null) return note(names, 'it cannot be opened')
    try {
      // A package may be called `env`; only an environment has this file.
      const isVenv = VENV_NAMES.some((venv) => venv === name) && (await statusIn(child, 'pyvenv.cfg')) !== null
      if (isVenv) return
      take({ names, kind: 'directory', mode: 0o755, size: 0, target: '' }, status)
      await listBelow(child, names)
    } finally {
      await child.close()
    }
  }

  function take(entry: ProjectEntry, { ino, mtimeNs, ctimeNs }: BigIntStats): void {
    if (entry.kind === 'file') {
      files += 1
      bytes += entry.size
      if (bytes > MAXIMUM_BYTES) throw tooLarge(source, `is larger than ${MAXIMUM_BYTES} bytes (512 MiB)`)
    }
    entries.push(entry)
    // Of a directory only its names count: its times change with what is skipped.
    const times = entry.kind === 'directory' ? [] : [ino, mtimeNs, ctimeNs].map(String)
    hash.update(`${JSON.stringify([entry.names, entry.kind, entry.mode, entry.size, entry.target, times])}\n`)
  }
}

/** Who copies it owns it, and may change it. */
function modeOf({ mode }: BigIntStats): number {
  return (Number(mode) & 0o755) | 0o600
}

async function statusIn(directory: FileHandle, name: string): Promise<BigIntStats | null> {
  return lstat(inside(directory, name), { bigint: true }).catch((error: unknown) => {
    // Gone since, or its name is no text.
    if (hasErrorCode(error, 'ENOENT')) return null
    throw error
  })
}

function tooLarge(source: string, why: string): HoldfastError {
  return new HoldfastError('payload_too_large', `the project '${source}' ${why}; name a smaller directory with box.host_path`, {
    path: source,
  })
}
