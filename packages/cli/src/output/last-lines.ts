/** The last lines of output that came in pieces of two channels. */

export interface OutputPiece {
  readonly channel: 'stdout' | 'stderr'
  readonly bytes: Uint8Array
}

const NEWLINE = 10

/** From the beginning of the line that is `count` lines before the end; an unfinished last line counts. */
export function lastLines<Piece extends OutputPiece>(pieces: readonly Piece[], count: number): readonly Piece[] {
  const kept: Piece[] = []
  let wanted = count
  let isEnd = true
  for (const piece of pieces.toReversed()) {
    if (wanted === 0) break
    let at = piece.bytes.length
    for (; at > 0; at--) {
      // The newline at the very end ends the last line and begins none.
      if (piece.bytes[at - 1] === NEWLINE && !isEnd && --wanted === 0) break
      isEnd = false
    }
    kept.unshift({ ...piece, bytes: piece.bytes.subarray(at) })
  }
  return kept
}
