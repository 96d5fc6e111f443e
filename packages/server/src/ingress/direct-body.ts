/**
 * The body of a request as a whole, from the connection itself.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { IncomingMessage } from 'node:http'
import { brokenOff, stalled, BODY_PATIENCE_MS, tooLarge } from './rest/request-body.ts'

/** For the rest of a body that nobody wants. */
const REST_MS = 500

/** Can be read once. Throws `payload_too_large`, `request_stalled`, and `request_cancelled` for one that breaks off. */
export function wholeBodyOf(incoming: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(incoming.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes)
    const chunks: Buffer[] = []
    let size = 0
    const patience = setTimeout(() => end(() => reject(stalled())), BODY_PATIENCE_MS)
    const end = (settle: () => void) => {
      clearTimeout(patience)
      incoming.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      settle()
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > limitBytes) end(() => reject(tooLarge(limitBytes)))
      else chunks.push(chunk)
    }
    const onEnd = () => end(() => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size)))
    const onClose = () => end(() => reject(brokenOff()))
    incoming.on('data', onData).on('end', onEnd).on('close', onClose)
    if (incoming.destroyed) onClose()
  })
}

/** An answer was given before all of it was read: the rest may come for a moment, so that the answer is not lost with the connection. */
export function leaveRest(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.destroyed) return
  const cutting = setTimeout(() => incoming.destroy(), REST_MS)
  incoming.once('close', () => clearTimeout(cutting))
  incoming.once('end', () => clearTimeout(cutting))
  incoming.resume()
}
