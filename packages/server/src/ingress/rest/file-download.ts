/**
 * One file as an answer: whole, a range of it, or the word that it has not changed.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { Readable } from 'node:stream'
import type { SessionFiles } from '../../sessions/session-files.ts'
import { contentHeaders } from './content-type.ts'
import { validatorsOf } from './file-view.ts'
import { isSameForRange, isUnchanged, rangeOf } from './range.ts'
import type { Entered, Visit } from './route.ts'
import { whileAllowed } from './while-allowed.ts'

export interface DownloadNeeds {
  readonly files: SessionFiles
  readonly clock: () => number
}

export async function download(visit: Visit & Entered, sessionId: string, path: string, { files, clock }: DownloadNeeds) {
  const allowed = whileAllowed(visit)
  try {
    let isRange = false
    const { entry, slice, content } = await files.read({ caller: visit.caller, sessionId, signal: allowed.signal }, path, (found) => {
      const validators = validatorsOf(found)
      if (isUnchanged(visit.header('if-none-match'), validators)) return null
      const isSame = isSameForRange(visit.header('if-range'), validators, found.modifiedAt, clock())
      const range = visit.isHead === true || !isSame ? null : rangeOf(visit.header('range'), found.size)
      isRange = range !== null
      return range ?? { offset: 0, length: found.size }
    })
    const { etag, lastModified } = validatorsOf(entry)
    const headers = { etag, 'last-modified': lastModified, 'accept-ranges': 'bytes' }
    if (slice === null || content === null) {
      allowed.release()
      return { status: 304 as const, body: null, headers }
    }
    const sized = { ...headers, ...contentHeaders(path), 'content-length': `${slice.length}` }
    const body = byteStream(visit, content, allowed.release)
    if (!isRange) return { status: 200 as const, body, headers: sized }
    const contentRange = `bytes ${slice.offset}-${slice.offset + slice.length - 1}/${entry.size}`
    return { status: 206 as const, body, headers: { ...sized, 'content-range': contentRange } }
  } catch (error) {
    allowed.release()
    throw error
  }
}

/** For the body of an answer; `onClosed` follows however it ends. A failure cuts the connection, so a bug among them is only logged. */
export function byteStream(
  { streamOpened, signal, problemOf }: Pick<Visit, 'streamOpened' | 'signal' | 'problemOf'>,
  content: Readable,
  onClosed: () => void,
): ReadableStream<Uint8Array> {
  let streamClosed: (() => void) | undefined
  try {
    streamClosed = streamOpened?.()
  } catch (error) {
    content.destroy()
    throw error
  }
  const finish = () => {
    streamClosed?.()
    onClosed()
  }
  content.on('error', (error) => {
    if (!signal.aborted && error.name !== 'AbortError') problemOf(error)
  })
  if (content.closed) finish()
  else content.once('close', finish)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same class under two names
  return Readable.toWeb(content) as ReadableStream<Uint8Array>
}
