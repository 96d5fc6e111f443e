/**
 * A tar archive from a sandbox, unpacked into a directory of this machine. What is in it is not trusted.
 *
 * Only files, directories and links are made, below the directory and nowhere else: a name that climbs out, or leads through a
 * link, ends it. Modes lose what gives rights to others (set-user-id and its like). Symbolic links are made last, so nothing is written through one.
 */
import { constants } from 'node:fs'
import { link, lstat, mkdir, open, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol/errors'
import { BLOCK, padding, readPax, readTarHeader } from './tar-format.ts'
import type { TarEntry, TarType } from './tar-format.ts'

/** Names and pax records are kept in memory. */
const LONGEST_RECORDS = 1024 * 1024
const MOST_LINKS = 1_000_000
const PERMISSIONS = 0o777

export interface Unpacked {
  readonly files: number
  /** What was left out: devices and pipes. */
  readonly skipped: readonly string[]
}

export async function unpackInto(directory: string, archive: AsyncIterable<Uint8Array>, onFile: (name: string) => void): Promise<Unpacked> {
  const source = byteSource(archive)
  const links: { readonly path: string; readonly target: string }[] = []
  const skipped: string[] = []
  let files = 0
  await mkdir(directory, { recursive: true })
  for (let entry = await nextEntry(source); entry !== null; entry = await nextEntry(source)) {
    const path = await placeOf(directory, entry.name)
    if (entry.type === 'directory') {
      await makeDirectory(path)
    } else if (entry.type === 'file') {
      onFile(entry.name)
      await writeFile(path, entry, source)
      files += 1
    } else if (entry.type === 'hardlink') {
      await linkFile(await placeOf(directory, entry.target), path)
      files += 1
    } else if (entry.type === 'symlink') {
      if (links.length >= MOST_LINKS) throw refused(`more than ${MOST_LINKS} symbolic links`)
      links.push({ path, target: entry.target })
    } else {
      await source.skip(entry.size + padding(entry.size))
      skipped.push(entry.name)
    }
  }
  for (const { path, target } of links) {
    // What was there is replaced, as a file is; a directory stays.
    await rm(path, { force: true })
    await symlink(target, path)
    files += 1
  }
  return { files, skipped }
}

/** Below the directory, with every directory above it real and not a link. */
async function placeOf(directory: string, name: string): Promise<string> {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (name.startsWith('/') || parts.includes('..') || name.includes('\0')) throw refused(`the name ${JSON.stringify(name)} leads out of it`)
  let path = directory
  for (const part of parts.slice(0, -1)) {
    path = join(path, part)
    await makeDirectory(path)
  }
  return join(directory, ...parts)
}

async function makeDirectory(path: string): Promise<void> {
  const there = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (there === null) await mkdir(path)
  else if (!there.isDirectory()) throw refused(`${JSON.stringify(path)} is there and is no directory`)
}

async function writeFile(path: string, { size, mode }: TarEntry, source: ByteSource): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  // Made anew: what was there may be a link, and others may have it open.
  await rm(path, { force: true })
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode & PERMISSIONS)
  try {
    for await (const piece of source.take(size)) await file.writeFile(piece)
  } finally {
    await file.close()
  }
  await source.skip(padding(size))
}

/** A second name of a file that came before. */
async function linkFile(source: string, path: string): Promise<void> {
  const there = await lstat(source)
  if (!there.isFile()) throw refused(`${JSON.stringify(path)} is linked to what is no file`)
  await rm(path, { force: true })
  await link(source, path)
}

const TYPES: Readonly<Record<string, TarType>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'directory',
}

async function nextEntry(source: ByteSource): Promise<TarEntry | null> {
  let longName: string | null = null
  let longTarget: string | null = null
  let pax: ReadonlyMap<string, string> = new Map()
  for (;;) {
    const header = await source.block()
    if (header === null || header.every((byte) => byte === 0)) return null
    const read = readTarHeader(header)
    if (read === null) throw refused('it is no tar archive, or it is damaged')
    const { flag, size } = read
    if (flag === 'x' || flag === 'L' || flag === 'K' || flag === 'g') {
      if (size > LONGEST_RECORDS) throw refused('a name in it is too long')
      const bytes = await source.whole(size)
      await source.skip(padding(size))
      if (flag === 'x') pax = readPax(bytes)
      else if (flag === 'L') longName = untilNul(bytes)
      else if (flag === 'K') longTarget = untilNul(bytes)
      continue
    }
    const paxSize = Number(pax.get('size') ?? size)
    return {
      ...read,
      type: TYPES[flag] ?? 'other',
      name: pax.get('path') ?? longName ?? read.name,
      target: pax.get('linkpath') ?? longTarget ?? read.target,
      // A hard link has no content of its own.
      size: flag === '1' ? 0 : Number.isSafeInteger(paxSize) && paxSize >= 0 ? paxSize : 0,
    }
  }
}

function untilNul(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end)
}

interface ByteSource {
  /** `null` at the end. */
  block(): Promise<Buffer | null>
  whole(size: number): Promise<Buffer>
  take(size: number): AsyncGenerator<Buffer, void, void>
  skip(size: number): Promise<void>
}

/** Bytes in the amounts that are asked for, out of pieces as they come. */
function byteSource(archive: AsyncIterable<Uint8Array>): ByteSource {
  const pieces = archive[Symbol.asyncIterator]()
  let rest = Buffer.alloc(0)

  async function* take(size: number): AsyncGenerator<Buffer, void, void> {
    let left = size
    while (left > 0) {
      if (rest.length === 0) {
        const piece = await pieces.next()
        if (piece.done === true) throw refused('it ends too early')
        rest = Buffer.from(piece.value)
        continue
      }
      const taken = rest.subarray(0, left)
      rest = rest.subarray(taken.length)
      left -= taken.length
      yield taken
    }
  }
  async function whole(size: number): Promise<Buffer> {
    return Buffer.concat(await Array.fromAsync(take(size)))
  }
  return {
    take,
    whole,
    async block() {
      while (rest.length === 0) {
        const piece = await pieces.next()
        if (piece.done === true) return null
        rest = Buffer.from(piece.value)
      }
      return whole(BLOCK)
    },
    async skip(size) {
      for await (const _ of take(size)) continue
    },
  }
}

function refused(why: string): HoldfastError<'file_operation_failed'> {
  return new HoldfastError('file_operation_failed', `the archive cannot be unpacked: ${why}`)
}
