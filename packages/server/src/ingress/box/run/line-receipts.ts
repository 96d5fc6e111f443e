/**
 * How much of a relay has arrived: that a line was sent does not say so, but each answer to a ping does for what was sent before it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Asked after a moment, or sooner when much is on its way, so that single lines cost nothing more. A client that says farewell has what
 * was sent before. What is never confirmed goes to the next client: after one that vanished the last lines may come twice, and none is lost.
 */
import type { WebSocket } from 'ws'

/** Apart from pings that ask whether anybody is there. */
const PREFIX = 'lines '
const ASK_AFTER_MS = 10
const ASK_AFTER_BYTES = 524_288

export interface LineReceipts {
  /** One more line of so many bytes was sent. */
  note(bytes: number): void
  /** The way has taken one of them. */
  taken(): void
  /** Everything that the way has taken has arrived. */
  confirmTaken(): void
}

export function lineReceipts(socket: WebSocket, { confirm }: { readonly confirm: () => void }): LineReceipts {
  let sentLines = 0
  let takenLines = 0
  let askedLines = 0
  let confirmedLines = 0
  let unaskedBytes = 0
  let timer: NodeJS.Timeout | null = null

  function askNow(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (askedLines === sentLines || socket.readyState !== socket.OPEN) return
    askedLines = sentLines
    unaskedBytes = 0
    socket.ping(`${PREFIX}${sentLines}`)
  }

  function confirmUpTo(count: number): void {
    for (; confirmedLines < count; confirmedLines += 1) confirm()
  }

  socket.on('pong', (payload) => confirmUpTo(countIn(payload, sentLines)))
  socket.once('close', () => {
    if (timer !== null) clearTimeout(timer)
  })
  return {
    taken: () => void (takenLines += 1),
    confirmTaken: () => confirmUpTo(takenLines),
    note(bytes) {
      sentLines += 1
      unaskedBytes += bytes
      // Sent only after this returns, so it is asked for after what follows.
      if (unaskedBytes > ASK_AFTER_BYTES) queueMicrotask(askNow)
      else timer ??= setTimeout(askNow, ASK_AFTER_MS)
    },
  }
}

/** How many lines this confirms: none if it answers something else, or says what cannot be. */
function countIn(payload: Buffer, sentLines: number): number {
  const text = payload.toString('latin1')
  const count = text.startsWith(PREFIX) ? Number(text.slice(PREFIX.length)) : 0
  return Number.isSafeInteger(count) && count <= sentLines ? count : 0
}
