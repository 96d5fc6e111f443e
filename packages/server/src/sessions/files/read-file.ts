/**
 * Reading a file or a slice of it, never more and never less than was promised.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The length is that of the moment when the file was looked at: one that grows is cut there, one that shrinks makes the stream fail.
 */
import { Readable } from 'node:stream'
import type { Entry } from '../../guest/inside.ts'
import type { Place } from '../insides.ts'
import { failedWith, fileError } from './file-errors.ts'
import { pulledStream } from './pulled-stream.ts'

/** What the kernel makes up as it is read (`/proc`) says that it is empty; so much of it is read to know its length. */
const UNSIZED_BYTES = 1_048_576

export interface Slice {
  readonly offset: number
  readonly length: number
}

/** What of the file is wanted, now that it is known; `null` for nothing. */
export type Select = (entry: Entry) => Slice | null

export interface OpenedFile {
  readonly entry: Entry
  readonly slice: Slice | null
  readonly content: Readable | null
}

/** `path` is absolute, inside. Links are followed. */
export async function readFile(place: Place, path: string, select: Select, signal: AbortSignal): Promise<OpenedFile> {
  const { inside, as } = place
  const entry = await inside.files.stat(path, { ...as, follow: true })
  requireFile(entry)
  if (entry.size === 0) return readUnsized(await inside.files.read(path, { ...as, length: UNSIZED_BYTES + 1, signal }), entry, select)
  const slice = select(entry)
  if (slice === null) return { entry, slice, content: null }
  const source = await inside.files.read(path, { ...as, ...slice, signal })
  const pieces: AsyncIterator<Buffer> = source.iterator({ destroyOnReturn: false })
  let missing = slice.length
  const content = pulledStream({
    async next() {
      const piece = await pieces.next().catch((error: unknown) => Promise.reject(fileError(error)))
      place.note()
      if (!piece.done) {
        missing -= piece.value.length
        return piece.value
      }
      if (missing > 0) throw failedWith('EIO', `${path} shrank while it was read, ${missing} bytes are missing`, { path })
      return null
    },
    leave: () => source.destroy(),
  })
  return { entry, slice, content }
}

async function readUnsized(source: Readable, entry: Entry, select: Select): Promise<OpenedFile> {
  const pieces: Buffer[] = []
  for await (const piece of source as AsyncIterable<Buffer>) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  if (bytes.length > UNSIZED_BYTES)
    throw failedWith('EFBIG', `${entry.path} does not say how long it is, and is longer than ${UNSIZED_BYTES} bytes`, { path: entry.path })
  const sized = { ...entry, size: bytes.length }
  const slice = select(sized)
  if (slice === null) return { entry: sized, slice, content: null }
  const wanted = bytes.subarray(slice.offset, slice.offset + slice.length)
  return { entry: sized, slice, content: Readable.from(wanted.length === 0 ? [] : [wanted], { objectMode: false }) }
}

function requireFile({ type, size, path }: Entry): void {
  if (type === 'directory') throw failedWith('EISDIR', `${path} is a directory; it can be read as an archive`, { path })
  if (type !== 'file') throw failedWith('EINVAL', `${path} is a ${type}, not a file`, { path })
  if (!Number.isSafeInteger(size)) throw failedWith('EFBIG', `${path} has ${size} bytes, more than can be counted`, { path })
}
