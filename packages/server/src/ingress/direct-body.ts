/**
 * The body of a request as a whole, from the connection itself.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { IncomingMessage } from 'node:http'
import { JsonScan, PIECE_BYTES } from '../mcp/share/json-scan.ts'
import { inTurns } from '../mcp/share/loop-turns.ts'
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
/** No more is read while so much has not been scanned. */
const UNSCANNED_BYTES = 262_144
const NOTHING = Buffer.alloc(0)

/**
 * Can be read once; scanned while it comes, and reserved before. Throws `payload_too_large`, `request_stalled`, what `reserve` does, and
 * `request_cancelled` for a body that breaks off.
 */
export function jsonBodyOf(incoming: IncomingMessage, limitBytes: number, reserve: Reserve): Promise<JsonBody> {
  return new Promise((resolve, reject) => {
    const announced = Number(incoming.headers['content-length'] ?? 0)
    if (announced > limitBytes) throw tooLarge(limitBytes)
    reserve(announced)
    /** What has come is in its first `size` bytes. */
    let whole: Buffer = NOTHING
    let size = 0
    let scan: JsonScan | null = null
    let isScanning = false
    let hasEnded = false
    let isSettled = false
    const patience = setTimeout(() => end(() => reject(stalled())), BODY_PATIENCE_MS)
    const end = (settle: () => void) => {
      isSettled = true
      clearTimeout(patience)
      incoming.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      settle()
    }
    const resolveWhole = () => {
      scan?.end()
      end(() => resolve({ bytes: whole.subarray(0, size), scan }))
    }
    const scanNext = () => {
      if (isSettled || scan === null) return true
      scan.push(whole.subarray(scan.bytes, Math.min(size, scan.bytes + PIECE_BYTES)))
      isScanning = scan.bytes < size
      if (size - scan.bytes <= UNSCANNED_BYTES && incoming.isPaused()) incoming.resume()
      if (!isScanning && hasEnded) resolveWhole()
      return !isScanning
    }
    const add = (chunk: Buffer) => {
      const before = size
      size += chunk.length
      if (size > limitBytes) throw tooLarge(limitBytes)
      if (size > announced) reserve(Math.min(chunk.length, size - announced))
      if (before === 0 && size >= announced) whole = chunk
      else {
        if (size > whole.length) whole = enlarged(whole.subarray(0, before), Math.max(announced, 2 * size))
        chunk.copy(whole, before)
      }
      if (size <= LIGHT_BYTES) return
      scan ??= new JsonScan()
      if (size - scan.bytes > UNSCANNED_BYTES) incoming.pause()
      if (isScanning) return
      isScanning = true
      inTurns(scanNext)
    }
    const onData = (chunk: Buffer) => {
      try {
        add(chunk)
      } catch (error) {
        end(() => reject(error))
      }
    }
    const onEnd = () => {
      hasEnded = true
      incoming.off('close', onClose)
      if (!isScanning) resolveWhole()
    }
    const onClose = () => end(() => reject(brokenOff()))
    incoming.on('data', onData).on('end', onEnd).on('close', onClose)
    if (incoming.destroyed) onClose()
  })
}

function enlarged(bytes: Buffer, size: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(size)
  bytes.copy(larger)
  return larger
}

/** An answer was given before all of it was read: the rest may come for a moment, so that the answer is not lost with the connection. */
export function leaveRest(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.destroyed) return
  const cutting = setTimeout(() => incoming.destroy(), REST_MS)
  incoming.once('close', () => clearTimeout(cutting))
  incoming.once('end', () => clearTimeout(cutting))
  incoming.resume()
}
