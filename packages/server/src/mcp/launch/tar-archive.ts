/**
 * A project as a tar archive, made as it is read: memory does not depend on its size.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Headers are those of ustar, with GNU's way of long names: what both GNU tar and busybox read. A file that grew is cut at the length its
 * header says; one that shrank is filled up with zeros, as tar does it.
 */
import type { FileHandle } from 'node:fs/promises'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../../home/error-code.ts'
import { openBelow, openFile, withDirectory } from '../../skills/directory-handle.ts'
import type { ProjectEntry } from './project-entries.ts'

const BLOCK = 512
const CHUNK_BYTES = 256 * 1024
const TYPES = { file: '0', link: '2', directory: '5' } as const
const LONG_NAME = 'L'
const LONG_TARGET = 'K'

/** `onEntry` hears of each entry once it is in the archive. */
export async function* tarArchive(
  top: FileHandle,
  entries: Iterable<ProjectEntry>,
  onEntry: (entry: ProjectEntry) => void,
): AsyncGenerator<Buffer, void, void> {
  for (const entry of entries) {
    if (entry.kind === 'file') yield* fileBlocks(top, entry)
    else yield headerOf(entry, 0)
    onEntry(entry)
  }
  yield Buffer.alloc(2 * BLOCK)
}

async function* fileBlocks(top: FileHandle, entry: ProjectEntry): AsyncGenerator<Buffer, void, void> {
  const name = entry.names.at(-1) ?? ''
  const file = await withDirectory(openBelow(top, entry.names.slice(0, -1)), (directory) => openFile(directory, name)).catch(
    (error: unknown) => {
      throw changed(entry, error)
    },
  )
  try {
    yield headerOf(entry, entry.size)
    let missing = entry.size
    while (missing > 0) {
      const chunk = Buffer.allocUnsafe(Math.min(missing, CHUNK_BYTES))
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null).catch((error: unknown) => Promise.reject(changed(entry, error)))
      if (bytesRead === 0) chunk.fill(0)
      const piece = bytesRead === 0 ? chunk : chunk.subarray(0, bytesRead)
      missing -= piece.length
      yield piece
    }
    yield Buffer.alloc((BLOCK - (entry.size % BLOCK)) % BLOCK)
  } finally {
    await file.close()
  }
}

function headerOf({ names, kind, mode, target }: ProjectEntry, size: number): Buffer {
  const name = Buffer.from(`./${names.join('/')}${kind === 'directory' ? '/' : ''}`)
  const link = Buffer.from(target)
  return Buffer.concat([
    ...(link.length > 100 ? longText(LONG_TARGET, link) : []),
    ...(name.length > 100 ? longText(LONG_NAME, name) : []),
    block({ name, mode, size, type: TYPES[kind], link }),
  ])
}

function longText(type: string, text: Buffer): readonly Buffer[] {
  const body = Buffer.alloc(Math.ceil((text.length + 1) / BLOCK) * BLOCK)
  text.copy(body)
  return [block({ name: Buffer.from('././@LongLink'), mode: 0, size: text.length + 1, type, link: Buffer.alloc(0) }), body]
}

interface Header {
  readonly name: Buffer
  readonly mode: number
  readonly size: number
  readonly type: string
  readonly link: Buffer
}

function block({ name, mode, size, type, link }: Header): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, offset: number, width: number) =>
    header.write(`${value.toString(8).padStart(width - 1, '0')}\0`, offset, 'latin1')
  name.copy(header, 0, 0, 100)
  octal(mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(0, 136, 12)
  header.fill(' ', 148, 156)
  header.write(type, 156, 'latin1')
  link.copy(header, 157, 0, 100)
  header.write('ustar  \0', 257, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

function changed({ names }: ProjectEntry, cause: unknown): HoldfastError {
  const why = hasErrorCode(cause, 'EACCES', 'EPERM') ? 'may not be read by the server' : 'was changed while the project was copied'
  return new HoldfastError('mount_refused', `'${names.join('/').slice(0, 200)}' ${why}`, {}, { cause })
}
