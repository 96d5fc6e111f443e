/**
 * Whether somebody is still at the other end of a socket: asked again and again, and the connection is cut when nobody answers.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Whatever arrives or is taken is a sign of life, so a slow reader that still has much to read is not cut off.
 */
import type { WebSocket } from 'ws'

/** A socket that we do not read is asked more often: that nobody is there shows only when sending fails, and then at the second time. */
const TURNS = 8

/** Gives what is to be called whenever something was taken. */
export function startHeartbeat(socket: WebSocket, everyMs: number): () => void {
  let isSeen = true
  let turn = 0
  const seen = () => void (isSeen = true)
  const timer = setInterval(() => {
    turn += 1
    if (socket.isPaused) {
      isSeen = true
      return socket.ping()
    }
    if (turn % TURNS > 0) return
    if (!isSeen) return socket.terminate()
    isSeen = false
    socket.ping()
  }, everyMs / TURNS)
  timer.unref()
  socket.on('pong', seen)
  socket.on('message', seen)
  socket.on('close', () => clearInterval(timer))
  return seen
}
