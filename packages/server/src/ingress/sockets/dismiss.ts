/**
 * Sends a WebSocket's client away because the server stops, and does not wait for ever for its goodbye.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { once } from 'node:events'
import type { WebSocket } from 'ws'
import { CLOSE_GOING_AWAY } from './close-codes.ts'

const FAREWELL_MS = 2_000

export async function dismiss(socket: WebSocket): Promise<void> {
  // One that has left says no goodbye any more.
  if (socket.readyState === socket.CLOSED) return
  const closed = once(socket, 'close')
  socket.close(CLOSE_GOING_AWAY)
  const timer = setTimeout(() => socket.terminate(), FAREWELL_MS)
  await closed
  clearTimeout(timer)
}
