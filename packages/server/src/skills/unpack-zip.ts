/**
 * A zip archive from a stranger → a tree of plain files, or a refusal that says what is wrong with it.
 *
 * Stands beside the flow.
 *
 * All that the archive's directory claims is checked before the first byte is unpacked, and what is unpacked is held to it: sizes and
 * checksums that lie end it. Bytes go to the disk as they come, so memory does not depend on the archive.
 */
import { stat } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { fromBufferPromise, openPromise } from 'yauzl'
import type { Entry, Options, ZipFile } from 'yauzl'
import { createPackageTree, MAXIMUM_FILE_BYTES, MAXIMUM_TREE_BYTES, MAXIMUM_TREE_ENTRIES } from './package-tree.ts'
import { namesOf } from './relative-path.ts'
import { shortened } from './skill.ts'

export const MAXIMUM_ARCHIVE_BYTES = 20 * 1024 * 1024
/** Of what comes out to what went in. */
const MAXIMUM_RATIO = 100

/** In memory, or a file of the server's own. */
export type ZipSource = Uint8Array | { readonly path: string }

const OPTIONS: Options = { lazyEntries: true, autoClose: false, decodeStrings: true, validateEntrySizes: true, strictFileNames: true }

/** What the upper half of an entry's attributes says, as in a file's mode. */
const KIND = 0o170000
const REGULAR = 0o100000
const DIRECTORY = 0o040000
const STORED = 0
const DEFLATED = 8

/** `into` is an empty directory of the server's own. Throws `invalid_request` or `payload_too_large`; what was written by then is left there. */
export async function unpackZip(source: ZipSource, into: string): Promise<void> {
  const size = source instanceof Uint8Array ? source.length : (await stat(source.path)).size
  if (size > MAXIMUM_ARCHIVE_BYTES) throw tooLarge(`the archive is larger than ${MAXIMUM_ARCHIVE_BYTES} bytes (20 MiB)`)
  const zip = await openZip(source)
  try {
    const entries = await entriesIn(zip)
    checkTotals(entries, size)
    const tree = createPackageTree(into)
    for (const entry of entries) {
      if (entry.fileName.endsWith('/')) await tree.directory(entry.fileName)
      else await tree.file(entry.fileName, (modeOf(entry) & 0o111) !== 0, contentOf(zip, entry))
    }
  } finally {
    zip.close()
  }
}

async function openZip(source: ZipSource): Promise<ZipFile> {
  const opening =
    source instanceof Uint8Array
      ? fromBufferPromise(Buffer.from(source.buffer, source.byteOffset, source.byteLength), OPTIONS)
      : openPromise(source.path, OPTIONS)
  return opening.catch((error: unknown) => {
    throw notZip(error)
  })
}

/** Each one checked by itself. */
async function entriesIn(zip: ZipFile): Promise<readonly Entry[]> {
  if (zip.entryCount > MAXIMUM_TREE_ENTRIES)
    throw tooLarge(`the archive has ${zip.entryCount} entries, and may have ${MAXIMUM_TREE_ENTRIES}`)
  const entries: Entry[] = []
  try {
    for await (const entry of zip.eachEntry()) {
      checkEntry(entry)
      entries.push(entry)
    }
  } catch (error) {
    throw isHoldfastError(error) ? error : notZip(error)
  }
  return entries
}

function checkEntry(entry: Entry): void {
  const { fileName, uncompressedSize, compressedSize, compressionMethod } = entry
  const refuse = (why: string): never => {
    throw new HoldfastError('invalid_request', `archive: '${shortened(fileName)}' ${why}`)
  }
  if (namesOf(fileName, 'archive').length === 0) refuse('has no name')
  const isDirectory = fileName.endsWith('/')
  const kind = modeOf(entry) & KIND
  if (kind !== 0 && kind !== REGULAR && kind !== DIRECTORY) refuse('is a link or a special file')
  if (kind !== 0 && (kind === DIRECTORY) !== isDirectory) refuse('is called a directory in one place and a file in another')
  if (isDirectory && uncompressedSize !== 0) refuse('is a directory with content')
  if ((entry.generalPurposeBitFlag & 1) !== 0) refuse('is encrypted')
  if (compressionMethod !== STORED && compressionMethod !== DEFLATED) refuse(`is packed in a way that is not known (${compressionMethod})`)
  if (compressionMethod === STORED && compressedSize !== uncompressedSize) refuse('has two sizes')
  if (uncompressedSize > MAXIMUM_FILE_BYTES) throw tooLarge(`'${shortened(fileName)}' is larger than ${MAXIMUM_FILE_BYTES} bytes (16 MiB)`)
  if (uncompressedSize > compressedSize * MAXIMUM_RATIO) refuse(`is packed to less than 1/${MAXIMUM_RATIO} of its size`)
}

function checkTotals(entries: readonly Entry[], archiveBytes: number): void {
  const total = entries.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0)
  if (total > MAXIMUM_TREE_BYTES) throw tooLarge(`the archive holds more than ${MAXIMUM_TREE_BYTES} bytes (64 MiB)`)
  // Entries may share the same bytes, so each can be honest and the whole be not.
  if (total > archiveBytes * MAXIMUM_RATIO)
    throw new HoldfastError('invalid_request', `archive: it is packed to less than 1/${MAXIMUM_RATIO} of its size`)
}

/** Fails where the bytes are not those that were announced. */
async function* contentOf(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array, void, void> {
  const lie = (cause?: unknown) =>
    new HoldfastError('invalid_request', `archive: '${shortened(entry.fileName)}' is not what the archive says of it`, {}, { cause })
  let size = 0
  let sum = 0
  try {
    for await (const chunk of await readStream(zip, entry)) {
      size += chunk.length
      if (size > entry.uncompressedSize) throw lie()
      sum = crc32(chunk, sum)
      yield chunk
    }
  } catch (error) {
    throw isHoldfastError(error) ? error : lie(error)
  }
  if (size !== entry.uncompressedSize || sum !== entry.crc32) throw lie()
}

async function readStream(zip: ZipFile, entry: Entry): Promise<AsyncIterable<Buffer>> {
  const stream = await zip.openReadStreamPromise(entry)
  // One that fails after it was left has nobody else to hear it.
  stream.on('error', () => undefined)
  return stream
}

/** Writers on other systems leave it 0. */
function modeOf({ externalFileAttributes }: Entry): number {
  return externalFileAttributes >>> 16
}

function notZip(cause: unknown): HoldfastError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new HoldfastError('invalid_request', `archive: cannot be read as a zip file: ${shortened(reason)}`, {}, { cause })
}

function tooLarge(sentence: string): HoldfastError {
  return new HoldfastError('payload_too_large', sentence)
}
