/**
 * A tar archive, as it comes, unpacked into a directory. Names that begin with `/` or climb with `..` stay below it.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A directory that was not there is there when all of it is, or not at all. One that was there gets the files as they come, so an
 * archive that breaks off leaves those that came before.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { randomId } from '../../home/random-id.ts'
import type { Place } from '../insides.ts'
import { failedWith } from './file-errors.ts'
import { startTar } from './tar.ts'

const GZIP = Buffer.from([0x1f, 0x8b])

/** `path` is absolute, inside. */
export async function unpackFiles(place: Place, path: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const { as } = place
  const { files } = place.inside
  const pieces = archive[Symbol.asyncIterator]()
  const head = await unlessEnded(headOf(pieces), signal)
  const there = await files.stat(path, { ...as, follow: true }).catch((error: unknown) => (isMissing(error) ? null : Promise.reject(error)))
  if (there !== null && there.type !== 'directory') throw failedWith('ENOTDIR', `${path} is a ${there.type}, not a directory`, { path })
  if (there !== null) return extract(place, path, head, pieces, signal)
  const directory = path.replace(/(?<!\/)\/+$/, '')
  const aside = `${directory}.${randomId('holdfast')}`
  await files.mkdir(aside, { ...as, parents: true })
  try {
    await extract(place, aside, head, pieces, signal)
    await files.move(aside, directory, { ...as, exclusive: true })
  } catch (error) {
    // Decision: the first failure is the one to tell; a sandbox that is gone has no remains.
    await files.remove(aside, { ...as, recursive: true, force: true }).catch(() => undefined)
    throw error
  }
}

/** Enough of the archive to see what it is. */
async function headOf(pieces: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let head = Buffer.alloc(0)
  while (head.length < GZIP.length) {
    const piece = await pieces.next()
    if (piece.done === true) break
    head = Buffer.concat([head, piece.value])
  }
  if (head.length === 0) throw new HoldfastError('invalid_request', 'the body is empty; send a tar archive, as it is or with gzip')
  return head
}

async function extract(
  place: Place,
  directory: string,
  head: Buffer,
  pieces: AsyncIterator<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const isZipped = head.subarray(0, GZIP.length).equals(GZIP)
  // Modes as they are in the archive; owners are whoever the session is.
  const options = ['-x', '-o', '-p', ...(isZipped ? ['-z'] : []), '-f', '-', '-C', directory]
  const { execution, hear, failure } = await startTar(place, options, 'pipe', signal)
  const exited = execution.drain(({ channel, bytes }) => (channel === 'stderr' ? hear(bytes) : undefined))
  try {
    // One that has ended needs no more of its archive, which may be long in coming.
    await unlessEnded(Promise.race([send(), exited]), signal)
    execution.stdin.end()
    const failed = failure(await unlessEnded(exited, signal))
    if (failed !== null) throw failed
  } catch (error) {
    // Whatever unpacks still must not write into what is about to be removed.
    await execution.kill(0).catch(() => undefined)
    throw error
  }

  async function send(): Promise<void> {
    try {
      await execution.stdin.write(head)
      for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) {
        place.note()
        await execution.stdin.write(piece.value)
      }
    } catch (error) {
      // It ended before its archive did; whether well or not, its exit says.
      if (!isHoldfastError(error, 'process_unknown')) throw error
    }
  }
}

/** Leaves the promise to itself when the signal fires first. */
async function unlessEnded<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = Promise.withResolvers<never>()
  const end = () => ended.reject(signal.reason)
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([promise, ended.promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

function isMissing(error: unknown): boolean {
  return isHoldfastError(error, 'file_operation_failed') && error.details['errno'] === 'ENOENT'
}
