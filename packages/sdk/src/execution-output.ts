/**
 * What an execution prints, byte for byte, over as many connections as it takes.
 *
 * The place is counted in bytes of both streams, so after a broken connection nothing is missing and nothing comes twice; a character
 * that was cut in between becomes whole here.
 */
import type { ExecutionOutputEvent, ExecutionView } from '@holdfast/protocol'
import { fromBase64 } from './base64.ts'
import type { OutputOptions } from './execution.ts'
import { parsed } from './exec.ts'
import { executionRecord } from './execution-record.ts'
import type { ExecutionRecord } from './execution-record.ts'
import { follow } from './transport/follow.ts'
import { linkedSignal } from './transport/patience.ts'
import type { Transport } from './transport/transport.ts'

export interface OutputPiece {
  readonly type: 'stdout' | 'stderr'
  /** Whole characters only; what is not UTF-8 is replaced. Empty while a character is not whole. */
  readonly text: string
  readonly bytes: Uint8Array
  /** Bytes of both streams up to the end of this piece: what to give as `after` to go on. */
  readonly seq: number
  /** When the server received it, to a tenth of a second; ISO 8601. */
  readonly at: string
}

/** So many bytes are not kept any more. */
export interface OutputGap {
  readonly type: 'gap'
  readonly skippedBytes: number
}

/** The last one. */
export interface OutputExit {
  readonly type: 'exit'
  readonly record: ExecutionRecord
}

export type OutputEvent = OutputPiece | OutputGap | OutputExit

interface OutputNeeds {
  readonly transport: Transport
  readonly path: string
  readonly letGo: AbortSignal
}

export async function* followOutput(
  { transport, path, letGo }: OutputNeeds,
  { after = 0, signal, reconnectMs }: OutputOptions,
): AsyncGenerator<OutputEvent, void, void> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  const linked = linkedSignal(signal, letGo)
  let seq = after
  let at = ''
  const following = {
    request: () => ({ path, query: { after: seq, encoding: 'base64' } }),
    signal: linked.signal,
    ...(reconnectMs === undefined ? {} : { reconnectMs }),
  }
  try {
    for await (const { event, data } of follow(transport, following)) {
      if (event === 'stdout' || event === 'stderr') {
        const piece = parsed<ExecutionOutputEvent>(data)
        if (piece.seq <= seq) continue
        const bytes = fromBase64(piece.data)
        seq = piece.seq
        at = piece.at
        yield { type: event, text: decoders[event].decode(bytes, { stream: true }), bytes, seq, at }
      } else if (event === 'gap') {
        const { skipped_bytes: skippedBytes } = parsed<{ readonly skipped_bytes: number }>(data)
        seq += skippedBytes
        yield { type: 'gap', skippedBytes }
      } else if (event === 'exit') {
        yield* rest(decoders, seq, at)
        yield { type: 'exit', record: executionRecord(parsed<ExecutionView>(data)) }
        return
      }
    }
  } finally {
    linked.end()
  }
}

/** What was left of characters that never became whole. */
function* rest(
  decoders: Readonly<Record<'stdout' | 'stderr', Pick<InstanceType<typeof TextDecoder>, 'decode'>>>,
  seq: number,
  at: string,
): Generator<OutputPiece> {
  for (const type of ['stdout', 'stderr'] as const) {
    const text = decoders[type].decode()
    if (text !== '') yield { type, text, bytes: new Uint8Array(0), seq, at }
  }
}
