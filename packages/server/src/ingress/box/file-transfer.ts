/**
 * Files on their way to an action: pieces are appended to a file on disk, in order, and are used once they are whole.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A connection has its own, which are gone when it ends. Memory holds one piece of each call; the disk holds a bounded sum.
 */
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fieldProblems, problemSentence } from '@holdfast/protocol'
import { BoxError, FILE_CHUNK_BYTES, FileChunk } from '@holdfast/protocol/box'

const MAXIMUM_FILES = 128
/** All files of one connection together may be so many times as large as one may be. */
const FULL_FILES = 8

export interface FileTransfer {
  /** Takes the next piece. The order is that of the calls. Throws `ValueError`. */
  take(data: unknown): Promise<void>
  /** Gives the path of the whole file to `work`, after which it is gone. Throws `BoxValidationError` for one that is not whole. */
  use<T>(key: string, work: (path: string) => Promise<T>): Promise<T>
  /** Whoever uses a file has ended by then. */
  close(): Promise<void>
}

interface Upload {
  readonly path: string
  readonly totalBytes: number
  readonly chunks: number
  bytes: number
  nextIndex: number
  /** Everything so far is on disk. */
  written: Promise<void>
}

export interface FileTransferNeeds {
  /** Made when the first piece comes, and removed at the end. */
  readonly directory: string
  readonly maxFileBytes: number
}

export function createFileTransfer({ directory, maxFileBytes }: FileTransferNeeds): FileTransfer {
  const uploads = new Map<string, Upload>()
  let made: Promise<unknown> | null = null
  let files = 0
  let heldBytes = 0
  let isClosed = false

  function begin({ file_key: key, file_length: totalBytes, chunk_amount: chunks }: FileChunk): Upload {
    if (totalBytes > maxFileBytes) throw new BoxError('ValueError', `file_length: a file may have at most ${maxFileBytes} bytes`)
    const before = uploads.get(key)
    if (before === undefined && uploads.size >= MAXIMUM_FILES)
      throw new BoxError('ValueError', `file_key: a connection may hold at most ${MAXIMUM_FILES} files`)
    heldBytes -= before?.bytes ?? 0
    made ??= mkdir(directory, { recursive: true, mode: 0o700 })
    const path = before?.path ?? join(directory, `${(files += 1)}`)
    const truncated = Promise.all([made, before?.written.catch(() => undefined)]).then(async () => writeFile(path, '', { mode: 0o600 }))
    // Whoever waits for it hears of a failure; a piece that is refused meanwhile waits for nothing.
    truncated.catch(() => undefined)
    const upload = { path, totalBytes, chunks, bytes: 0, nextIndex: 0, written: truncated }
    uploads.set(key, upload)
    return upload
  }

  function nextOf(chunk: FileChunk): Upload {
    if (chunk.chunk_index === 0) return begin(chunk)
    const upload = uploads.get(chunk.file_key)
    if (upload === undefined) throw new BoxError('ValueError', 'file_key: the first piece of this file has not come')
    if (chunk.chunk_index !== upload.nextIndex)
      throw new BoxError('ValueError', `chunk_index: ${upload.nextIndex} is the next one, not ${chunk.chunk_index}`)
    if (chunk.chunk_amount !== upload.chunks || chunk.file_length !== upload.totalBytes)
      throw new BoxError('ValueError', 'chunk_amount and file_length: must stay what they were with the first piece')
    return upload
  }

  /** It is its user's from now on. */
  function handOut(key: string): Upload {
    const upload = uploads.get(key)
    if (upload === undefined) throw new BoxError('BoxValidationError', 'file_key: no such file was sent on this connection')
    if (upload.nextIndex !== upload.chunks || upload.bytes !== upload.totalBytes)
      throw new BoxError('BoxValidationError', `file_key: ${upload.bytes} of ${upload.totalBytes} bytes have come`)
    uploads.delete(key)
    return upload
  }

  return {
    async take(data) {
      const parsed = FileChunk.safeParse(data)
      if (!parsed.success) throw new BoxError('ValueError', problemSentence(fieldProblems(parsed.error)))
      if (isClosed) throw new BoxError('BoxRuntimeUnavailableError', 'the connection is over')
      const bytes = decode(parsed.data.chunk_base64)
      const upload = nextOf(parsed.data)
      if (upload.bytes + bytes.length > upload.totalBytes)
        throw new BoxError('ValueError', 'chunk_base64: more bytes than file_length says')
      if (heldBytes + bytes.length > maxFileBytes * FULL_FILES)
        throw new BoxError('ValueError', `file_key: the files of a connection may have at most ${maxFileBytes * FULL_FILES} bytes together`)
      upload.bytes += bytes.length
      heldBytes += bytes.length
      upload.nextIndex += 1
      upload.written = upload.written.then(async () => appendFile(upload.path, bytes))
      await upload.written
    },
    async use(key, work) {
      const upload = handOut(key)
      try {
        await upload.written
        return await work(upload.path)
      } finally {
        heldBytes -= upload.bytes
        await rm(upload.path, { force: true })
      }
    },
    async close() {
      isClosed = true
      await Promise.allSettled([...uploads.values()].map(async ({ written }) => written))
      uploads.clear()
      await Promise.allSettled([made])
      if (made !== null) await rm(directory, { recursive: true, force: true })
    },
  }
}

function decode(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw new BoxError('ValueError', 'chunk_base64: must be base64')
  if (bytes.length > FILE_CHUNK_BYTES) throw new BoxError('ValueError', `chunk_base64: must be at most ${FILE_CHUNK_BYTES} bytes`)
  return bytes
}
