/**
 * Long work on the event loop, in pieces: all of it together takes a few milliseconds of one turn of the loop, for all callers together.
 *
 * Work that only yields after a piece of its own is not enough: a hundred such works that meet hold up everybody for a hundred pieces.
 */

/** Of one turn of the loop; a piece that has begun is finished. */
const TURN_MS = 8
/** Of one turn too: a short piece may let its connection read on, which costs time elsewhere. */
const TURN_PIECES = 32

/** Does one piece, of about a millisecond; `true`: there is no more. Must not throw. */
export type Piece = () => boolean

const waiting: Piece[] = []
let isScheduled = false

/** Pieces of different works take turns. */
export function inTurns(piece: Piece): void {
  waiting.push(piece)
  schedule()
}

function schedule(): void {
  if (isScheduled || waiting.length === 0) return
  isScheduled = true
  setImmediate(runTurn)
}

function runTurn(): void {
  isScheduled = false
  const until = performance.now() + TURN_MS
  for (let done = 0; done < TURN_PIECES && (done === 0 || performance.now() < until); done += 1) {
    const piece = waiting.shift()
    if (piece === undefined) break
    if (!piece()) waiting.push(piece)
  }
  schedule()
}
