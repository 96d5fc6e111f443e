/**
 * A process's stdout for one client, as frames: some bytes or one line each, with what was missed counted.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A client counts the bytes that it got to know its place. Where that would be wrong, because stderr lies in between, a frame says where
 * it ends.
 */
import type { AttachMode } from '@holdfast/protocol'
import type { OutputLog, StoredOutput } from '../../sessions/executions/output-log.ts'
import { LineFramer } from '../../sessions/processes/line-framer.ts'
import { pagesOf } from './terminal-output.ts'

export type ProcessFrame =
  /** `endsAt`: where the client does not know it by counting. */
  { readonly bytes: Uint8Array; readonly endsAt: number | null } | { readonly skippedBytes: number }

/** Ends when the output does, or quietly when `signal` fires. */
export async function* processFrames(
  output: OutputLog | StoredOutput,
  after: number,
  mode: AttachMode,
  signal: AbortSignal,
): AsyncGenerator<ProcessFrame, void, void> {
  /** Up to where the client has everything, as it counts. */
  let counted = after
  /** Up to where this has read. */
  let read = after
  const ready: ProcessFrame[] = []
  const add = ({ bytes, seq }: { readonly bytes: Uint8Array; readonly seq: number }) => {
    counted += bytes.length
    ready.push({ bytes, endsAt: counted === seq ? null : seq })
    counted = seq
  }
  const framer = mode === 'line' ? new LineFramer(add, { isText: false }) : null
  const skipTo = (seq: number) => {
    if (seq <= read) return
    // What was begun has lost its end.
    framer?.end()
    ready.push({ skippedBytes: seq - read })
    counted += seq - read
    read = seq
  }

  for await (const { chunks, seq } of pagesOf(output, after, signal)) {
    for (const chunk of chunks) {
      skipTo(chunk.seq - chunk.bytes.length)
      read = chunk.seq
      if (chunk.channel === 'stdout') take(chunk.bytes, chunk.seq)
      yield* ready.splice(0)
      if (signal.aborted) return
    }
    skipTo(seq)
  }
  framer?.end()
  yield* ready.splice(0)

  function take(bytes: Buffer, seq: number): void {
    if (framer === null) add({ bytes, seq })
    else framer.push(bytes, seq)
  }
}
