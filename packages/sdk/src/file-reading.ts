/**
 * A file's bytes as a stream that goes on over broken connections.
 *
 * It comes back for the rest with the mark of the file it began with. A file that is another one by then is an error, never a mixture.
 */
import { HoldfastError, isHoldfastError } from './errors.ts'
import { bodyPieces, streamOfPieces } from './transport/body-stream.ts'
import { linkedSignal, pause } from './transport/patience.ts'
import { backoffMs, TRIES } from './transport/retrying.ts'
import type { OpenAnswer, Transport } from './transport/transport.ts'

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined
  /** Until the first bytes are there. */
  readonly timeoutMs?: number | undefined
  /** The first byte to read, counted from 0. */
  readonly start?: number | undefined
  /** The byte to stop before. */
  readonly end?: number | undefined
}

interface Source {
  readonly transport: Transport
  readonly path: string
  /** Inside the sandbox. */
  readonly file: string
}

/** The first answer is awaited, so that a file that is not there fails here and not while it is read. */
export async function openFile(source: Source, options: ReadOptions): Promise<ReadableStream<Uint8Array>> {
  const first = await ask(source, options, options.start ?? 0, null)
  const leaving = linkedSignal(options.signal)
  const end = () => leaving.end()
  return streamOfPieces(bytesOf(source, { ...options, signal: leaving.signal }, first, end), () => {
    leaving.abort()
    first.close()
  })
}

async function* bytesOf(source: Source, options: ReadOptions & { readonly signal: AbortSignal }, first: OpenAnswer, end: () => void) {
  const { headers } = first.response
  const mark = headers.get('etag')
  const length = Number(headers.get('content-length') ?? Number.NaN)
  let position = options.start ?? 0
  let answer = first
  let attempt = 0
  try {
    for (;;) {
      try {
        for await (const piece of bodyPieces(answer)) {
          attempt = 0
          position += piece.length
          yield piece
        }
        return
      } catch (error) {
        attempt += 1
        // Cut after the last byte: there is no rest to ask for.
        if (position - (options.start ?? 0) === length) return
        if (!isHoldfastError(error, 'server_unreachable') || mark === null || attempt > TRIES) throw error
        await pause(backoffMs(attempt), options.signal)
      }
      answer = await ask(source, options, position, mark)
    }
  } finally {
    end()
  }
}

async function ask({ transport, path, file }: Source, options: ReadOptions, position: number, mark: string | null): Promise<OpenAnswer> {
  const { start, end, signal, timeoutMs } = options
  const isPart = start !== undefined || end !== undefined || mark !== null
  const headers = { accept: '*/*', ...(isPart ? { range: `bytes=${position}-${end === undefined ? '' : end - 1}` } : {}) }
  const answer = await transport.open({ path, query: { path: file }, headers, signal, timeoutMs })
  if (mark === null) return answer
  const { status, headers: told } = answer.response
  if (status === 206 && told.get('etag') === mark && told.get('content-range')?.startsWith(`bytes ${position}-`) === true) return answer
  answer.close()
  throw new HoldfastError({
    code: 'file_changed',
    message: `${file} changed while it was read`,
    retry: 'after-delay',
    hint: 'Read it again.',
  })
}
