/**
 * Counts what a WebSocket has received and nobody has taken yet in the budget for work in flight: a message that is not complete, and messages that
 * wait because their program does not read.
 *
 * A socket without room in the budget is closed with 1013, which means: try again later.
 */
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { isHoldfastError } from '@holdfast/protocol'
import type { Work } from '../pipeline/work-budget.ts'
import { CLOSE_TRY_AGAIN } from './close-codes.ts'

/** So much of each socket is not counted: most messages are small. */
const FREE_BYTES = 65_536
const FAREWELL_MS = 1_000

/** To be called after the listeners of the conversation are there: they pause a socket that is ahead of its program. */
export function countReceived(socket: WebSocket, connection: Duplex, begin: () => Work): void {
  let received = 0
  let work: Work | null = null
  let isWaiting = false

  function release(): void {
    work?.end()
    work = null
    received = 0
    isWaiting = false
  }

  function refuse(): void {
    release()
    socket.close(CLOSE_TRY_AGAIN)
    setTimeout(() => socket.terminate(), FAREWELL_MS).unref()
  }

  connection.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (received <= FREE_BYTES || socket.readyState !== socket.OPEN) return
    work ??= begin()
    try {
      work.reserve(chunk.length)
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      refuse()
    }
  })
  socket.on('message', () => {
    isWaiting = socket.isPaused
    if (!isWaiting) release()
  })
  connection.on('resume', () => {
    if (isWaiting && !socket.isPaused) release()
  })
  socket.once('close', release)
}
