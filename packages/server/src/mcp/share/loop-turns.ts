/**
 * Long work on the event loop, in pieces: all of it together takes a few milliseconds of one turn of the loop, for all callers together.
 *
 * Work that only yields after a piece of its own is not enough: a hundred such works that meet hold up everybody for a hundred pieces.
 */

/** Of one turn of the loop; a piece that has begun is finished. */
const TURN_MS = 8

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
  for (let piece = waiting.shift(); piece !== undefined; piece = performance.now() < until ? waiting.shift() : undefined)
    if (!piece()) waiting.push(piece)
  schedule()
}
