/**
 * A piece of an execution's output on the wire: as text, or as bytes in base64.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { StringDecoder } from 'node:string_decoder'
import type { OutputPageView } from '@holdfast/protocol'
import type { OutputChunk } from '../../guest/inside.ts'
import type { StoredChunk, StoredOutput } from '../../sessions/executions/output-log.ts'

export type OutputEncoding = 'text' | 'base64'

export interface OutputQueryValues {
  readonly after: number
  readonly limit_bytes: number
  readonly encoding: OutputEncoding
}

export async function outputPage(
  output: StoredOutput,
  { after, limit_bytes: limit, encoding }: OutputQueryValues,
): Promise<OutputPageView> {
  const { chunks, skippedBytes, seq } = await output.read(after, limit)
  const encoder = timedEncoder(encoding)
  const items = chunks.flatMap((chunk) => encoder.piece(chunk))
  return { items: [...items, ...encoder.rest(seq)], skipped_bytes: skippedBytes, seq, end_seq: output.seq }
}

export type TimedPiece = OutputPageView['items'][number]
export type OutputPiece = Omit<TimedPiece, 'at'>

export interface OutputEncoder<Chunk, Piece> {
  /** Nothing while a character is not whole. */
  piece(chunk: Chunk): readonly Piece[]
  /** What was left of characters that never became whole. */
  rest(seq: number): readonly Piece[]
}

/** Of stored output: with the time of each piece. */
export function timedEncoder(encoding: OutputEncoding): OutputEncoder<StoredChunk, TimedPiece> {
  const encoder = outputEncoder(encoding)
  let lastAt = 0
  const timed = (piece: OutputPiece): TimedPiece => ({ ...piece, at: new Date(lastAt).toISOString() })
  return {
    piece(chunk) {
      lastAt = chunk.at
      return encoder.piece(chunk).map(timed)
    },
    rest: (seq) => encoder.rest(seq).map(timed),
  }
}

/** Goes through one reading, so that a character that is cut between two chunks arrives whole. */
export function outputEncoder(encoding: OutputEncoding): OutputEncoder<OutputChunk, OutputPiece> {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
  const unlessEmpty = (piece: OutputPiece) => (piece.data === '' ? [] : [piece])
  return {
    piece({ channel, bytes, seq }) {
      const data = encoding === 'base64' ? Buffer.from(bytes).toString('base64') : decoders[channel].write(bytes)
      return unlessEmpty({ channel, data, seq })
    },
    rest: (seq) => (['stdout', 'stderr'] as const).flatMap((channel) => unlessEmpty({ channel, data: decoders[channel].end(), seq })),
  }
}
