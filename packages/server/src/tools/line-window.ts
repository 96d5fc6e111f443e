/**
 * Some lines of a file, found in its bytes as they come.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * Nothing is kept but what may be shown.
 */
const NEWLINE = 0x0a

export interface LineWish {
  /** The first line, from 1 on. */
  readonly offset: number
  readonly limit: number
  readonly maxBytes: number
}

export interface LineWindow {
  readonly lines: readonly string[]
  readonly cutBy: 'lines' | 'bytes' | null
}

/** Up to one byte more than may be shown, from the first byte of the line `offset` on. */
export async function bytesFromLine(content: AsyncIterable<Buffer>, { offset, maxBytes }: LineWish): Promise<Buffer> {
  const pieces: Buffer[] = []
  let [line, have] = [1, 0]
  for await (const piece of content) {
    let at = 0
    while (line < offset) {
      const newline = piece.indexOf(NEWLINE, at)
      if (newline < 0) break
      at = newline + 1
      line += 1
    }
    if (line < offset) continue
    const wanted = piece.subarray(at, at + maxBytes + 1 - have)
    pieces.push(wanted)
    have += wanted.length
    if (have > maxBytes) break
  }
  return Buffer.concat(pieces)
}

/** Whole lines only. A line counts with its end. */
export function linesIn(bytes: Buffer, { limit, maxBytes }: LineWish): LineWindow {
  const lines: string[] = []
  for (let at = 0; at < bytes.length;) {
    if (lines.length === limit) return { lines, cutBy: 'lines' }
    const newline = bytes.indexOf(NEWLINE, at)
    const end = newline < 0 ? bytes.length : newline + 1
    if (end > maxBytes) return { lines, cutBy: 'bytes' }
    lines.push(bytes.toString('utf8', at, newline < 0 ? end : newline))
    at = end
  }
  return { lines, cutBy: null }
}
