/**
 * What a process complained of last: the stderr among what it printed last, as far as that is kept.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { StoredOutput } from '../executions/output-log.ts'

/** How much of what was printed is looked through. */
export const SEARCHED_BYTES = 262_144

/** `printed`: bytes of both streams, where the output itself may not know. */
export async function complaintsIn(output: Pick<StoredOutput, 'seq' | 'read'>, printed = 0): Promise<Buffer> {
  const { chunks } = await output.read(Math.max(0, Math.max(output.seq, printed) - SEARCHED_BYTES))
  return Buffer.concat(chunks.flatMap(({ channel, bytes }) => (channel === 'stderr' ? [bytes] : [])))
}

/** The last bytes as text, in whole characters. */
export function textTail(bytes: Buffer, maximumBytes: number): string {
  let from = Math.max(0, bytes.length - maximumBytes)
  // In UTF-8 these go on with a character that began before.
  if (from > 0) while (isContinuation(bytes[from])) from += 1
  return bytes.subarray(from).toString('utf8')
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
