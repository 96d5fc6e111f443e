/**
 * Short notes of the server's in a box: what was copied, what was installed. A note that is not what it should be is none.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Whoever works in the box can change them, and hurts nobody else by it.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { isHoldfastError } from '@holdfast/protocol'
import type { FileTarget, SessionFiles } from '../../sessions/session-files.ts'

const MAXIMUM_NOTE_BYTES = 1_024

/** `null`: there is none. Of what is longer only the beginning is read. */
export async function readNote(
  files: Pick<SessionFiles, 'read'>,
  at: FileTarget,
  path: string,
  limitBytes = MAXIMUM_NOTE_BYTES,
): Promise<string | null> {
  const pieces: Buffer[] = []
  const isThere = await eachPiece(files, at, path, limitBytes, (piece) => pieces.push(piece))
  return isThere ? Buffer.concat(pieces).toString('utf8').trim() : null
}

export async function writeNote(files: Pick<SessionFiles, 'write'>, at: FileTarget, path: string, text: string): Promise<void> {
  await files.write(at, path, oneText(`${text}\n`), { parents: true })
}

/** The SHA-256 of a file of at most so many bytes; `null` when there is none. */
export async function digestOf(
  files: Pick<SessionFiles, 'read'>,
  at: FileTarget,
  path: string,
  limitBytes: number,
): Promise<string | null> {
  const hash = createHash('sha256')
  const isThere = await eachPiece(files, at, path, limitBytes, (piece) => hash.update(piece))
  return isThere ? hash.digest('hex') : null
}

async function eachPiece(
  files: Pick<SessionFiles, 'read'>,
  at: FileTarget,
  path: string,
  limitBytes: number,
  take: (piece: Buffer) => unknown,
): Promise<boolean> {
  try {
    const { content } = await files.read(at, path, ({ size }) => ({ offset: 0, length: Math.min(size, limitBytes) }))
    const pieces: AsyncIterable<Buffer> = content ?? Readable.from([])
    for await (const piece of pieces) take(piece)
    return true
  } catch (error) {
    // Nothing, or something that is no file, says nothing.
    if (isHoldfastError(error, 'file_not_found') || isHoldfastError(error, 'file_operation_failed')) return false
    throw error
  }
}

async function* oneText(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
