/**
 * The body of a request as a whole, from the connection itself.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { IncomingMessage } from 'node:http'
import { JsonScan } from '../mcp/share/json-scan.ts'
import { brokenOff, stalled, BODY_PATIENCE_MS, tooLarge } from './rest/request-body.ts'
import type { Reserve } from './rest/request-body.ts'

/** For the rest of a body that nobody wants. */
const REST_MS = 500

/** The body of a request that is JSON. */
export interface JsonBody {
  readonly bytes: Buffer
  /** `null`: it is too short to be heavy. */
  readonly scan: JsonScan | null
}

/** What is shorter is not scanned. */
const LIGHT_BYTES = 2_000

/**
 * Can be read once; scanned while it comes, and reserved before. Throws `payload_too_large`, `request_stalled`, what `reserve` does, and
 * `request_cancelled` for a body that breaks off.
 */
export function jsonBodyOf(incoming: IncomingMessage, limitBytes: number, reserve: Reserve): Promise<JsonBody> {
  return new Promise((resolve, reject) => {
    const announced = Number(incoming.headers['content-length'] ?? 0)
    if (announced > limitBytes) throw tooLarge(limitBytes)
    reserve(announced)
    const chunks: Buffer[] = []
    let size = 0
    let scan: JsonScan | null = announced > LIGHT_BYTES ? new JsonScan() : null
    const patience = setTimeout(() => end(() => reject(stalled())), BODY_PATIENCE_MS)
    const end = (settle: () => void) => {
      clearTimeout(patience)
      incoming.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      settle()
    }
    const add = (chunk: Buffer) => {
      size += chunk.length
      if (size > limitBytes) throw tooLarge(limitBytes)
      if (size > announced) reserve(Math.min(chunk.length, size - announced))
      chunks.push(chunk)
      if (scan === null && size > LIGHT_BYTES) {
        scan = new JsonScan()
        for (const each of chunks) scan.push(each)
      } else scan?.push(chunk)
    }
    const onData = (chunk: Buffer) => {
      try {
        add(chunk)
      } catch (error) {
        end(() => reject(error))
      }
    }
    const onEnd = () => {
      scan?.end()
      end(() => resolve({ bytes: chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size), scan }))
    }
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
