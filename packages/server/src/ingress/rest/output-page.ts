/**
 * A piece of an execution's output on the wire: as text, or as bytes in base64.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { StringDecoder } from 'node:string_decoder'
import type { OutputPageView } from '@holdfast/protocol'
import type { OutputChunk } from '../../guest/inside.ts'
import type { StoredOutput } from '../../sessions/executions/output-log.ts'

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
  const encoder = outputEncoder(encoding)
  const items = chunks.flatMap((chunk) => encoder.piece(chunk))
  return { items: [...items, ...encoder.rest(seq)], skipped_bytes: skippedBytes, seq, end_seq: output.seq }
}

export type OutputPiece = OutputPageView['items'][number]

export interface OutputEncoder {
  /** Nothing while a character is not whole. */
  piece(chunk: OutputChunk): readonly OutputPiece[]
  /** What was left of characters that never became whole. */
  rest(seq: number): readonly OutputPiece[]
}

/** Goes through one reading, so that a character that is cut between two chunks arrives whole. */
export function outputEncoder(encoding: OutputEncoding): OutputEncoder {
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
