/**
 * A terminal's output for one client: from where it was, in the client's own time, with what was missed counted.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { OutputLog, OutputPage, StoredOutput } from '../../sessions/executions/output-log.ts'

/** What is read at once of an output that lies there whole. */
const STEP_BYTES = 262_144

export interface Audience {
  /** Resolves when the client can take more. */
  show(bytes: Uint8Array): Promise<void>
  /** So many bytes are not kept any more. */
  miss(skippedBytes: number): Promise<void>
}

/** Resolves when it is over, or `signal` fires. */
export async function showOutput(
  output: OutputLog | StoredOutput,
  after: number,
  { show, miss }: Audience,
  signal: AbortSignal,
): Promise<void> {
  let shown = after
  const upTo = async (seq: number) => {
    if (seq > shown) await miss(seq - shown)
    shown = Math.max(shown, seq)
  }
  for await (const { chunks, seq } of pagesOf(output, after, signal)) {
    for (const chunk of chunks) {
      if (signal.aborted) return
      await upTo(chunk.seq - chunk.bytes.length)
      await show(chunk.bytes)
      shown = chunk.seq
    }
    await upTo(seq)
  }
}

/** What is kept, then what comes, until it is over or `signal` fires. */
export function pagesOf(output: OutputLog | StoredOutput, after: number, signal: AbortSignal): AsyncIterable<OutputPage> {
  return 'follow' in output ? output.follow(after, signal) : stored(output, after)
}

async function* stored(output: StoredOutput, after: number): AsyncGenerator<OutputPage, void, void> {
  for (let seq = after; seq < output.seq;) {
    const page = await output.read(seq, STEP_BYTES)
    yield page
    if (page.seq <= seq) return
    seq = page.seq
  }
}
