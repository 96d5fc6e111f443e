/**
 * Directories held open, so that what is done in one is done in that very one, whatever somebody makes of its path meanwhile.
 *
 * Stands beside the flow.
 *
 * A package may hold links, and a program in a sandbox may swap a directory for a link at any moment. So no path of several names is ever
 * handed to the kernel: each name is opened on its own, without following a link, below the handle of the one before. Linux leads
 * `/proc/self/fd/<number>/<name>` from the open directory.
 */
import { constants } from 'node:fs'
import { mkdir, open, opendir } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Dirent } from 'node:fs'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { shortened } from './skill.ts'

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** A pipe or a device does not make the server wait for somebody at its other end. */
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** What the name says in this directory. The last name of a path is never followed by whoever opens it here. */
export function inside(directory: FileHandle, name: string): string {
  return `${itself(directory)}/${name}`
}

export function itself(directory: FileHandle): string {
  return `/proc/self/fd/${directory.fd}`
}

/** The path is the server's own up to its last name. */
export function openDirectory(path: string): Promise<FileHandle> {
  return open(path, DIRECTORY)
}

/** Fails with the kernel's word where a name is missing (ENOENT) or is no directory, a link being none (ENOTDIR). */
export async function openBelow(top: FileHandle, names: readonly string[], make = false): Promise<FileHandle> {
  let directory = await open(itself(top), constants.O_RDONLY | constants.O_DIRECTORY)
  for (const name of names) {
    const above = directory
    try {
      if (make) await mkdir(inside(above, name), { mode: 0o755 }).catch(unlessThere)
      directory = await open(inside(above, name), DIRECTORY)
    } finally {
      await above.close()
    }
  }
  return directory
}

function unlessThere(error: unknown): void {
  if (!hasErrorCode(error, 'EEXIST')) throw error
}

/** `act` with the directory open, which is closed afterwards. */
export async function withDirectory<T>(opening: Promise<FileHandle>, act: (directory: FileHandle) => Promise<T>): Promise<T> {
  const directory = await opening
  try {
    return await act(directory)
  } finally {
    await directory.close()
  }
}

export interface EntryList {
  /** In the order of their names. */
  readonly entries: readonly Dirent[]
  /** There are more. */
  readonly isTruncated: boolean
}

/** Up to so many, in constant memory however many there are. */
export async function entriesOf(directory: FileHandle, limit: number): Promise<EntryList> {
  const entries: Dirent[] = []
  let isTruncated = false
  for await (const entry of await opendir(itself(directory))) {
    isTruncated = entries.length === limit
    if (isTruncated) break
    entries.push(entry)
  }
  return { entries: entries.toSorted((one, other) => (one.name < other.name ? -1 : 1)), isTruncated }
}

/** A regular file; throws `invalid_request` for anything else, and the kernel's ENOENT. */
export async function openFile(directory: FileHandle, name: string): Promise<FileHandle> {
  const file = await open(inside(directory, name), FILE).catch((error: unknown) => {
    if (hasErrorCode(error, 'ELOOP')) throw noFile(name, 'a symbolic link, and links are not followed')
    if (hasErrorCode(error, 'ENXIO', 'ENODEV')) throw noFile(name, 'no regular file')
    throw error
  })
  try {
    if (!(await file.stat()).isFile()) throw noFile(name, 'no regular file')
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Its text, of at most so many bytes of UTF-8. The size is looked at before anything is read, and held to while it is read. */
export async function readText(directory: FileHandle, name: string, limitBytes: number): Promise<string> {
  const file = await openFile(directory, name)
  try {
    const { size } = await file.stat()
    if (size > limitBytes) throw tooLarge(name, limitBytes)
    const buffer = Buffer.alloc(size + 1)
    let length = 0
    for (let read = -1; read !== 0; length += read) {
      // One that grows while it is read has no end that could be waited for.
      if (length > size) throw tooLarge(name, size)
      read = (await file.read(buffer, length, buffer.length - length, length)).bytesRead
    }
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(buffer.subarray(0, length))
  } catch (cause) {
    if (cause instanceof TypeError) throw noFile(name, 'no text in UTF-8', cause)
    throw cause
  } finally {
    await file.close()
  }
}

function tooLarge(name: string, limitBytes: number): HoldfastError {
  return new HoldfastError('payload_too_large', `'${shortened(name)}' is larger than ${limitBytes} bytes`, { limit_bytes: limitBytes })
}

function noFile(name: string, what: string, cause?: unknown): HoldfastError {
  return new HoldfastError('invalid_request', `path: '${shortened(name)}' is ${what}`, {}, cause === undefined ? {} : { cause })
}
