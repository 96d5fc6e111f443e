/**
 * The body of a request, read from its connection: a whole JSON text that is scanned while it comes, or the rest that nobody wants.
 *
 * However many bodies arrive at once, one turn of the event loop reads and scans a bounded part of each.
 */
import type { IncomingMessage } from 'node:http'
import { HoldfastError } from '@holdfast/protocol'
import { JsonScan, PIECE_BYTES } from '../mcp/share/json-scan.ts'
import { inTurns } from '../mcp/share/loop-turns.ts'

/** How long the next piece may take, and a whole text. */
export const BODY_PATIENCE_MS = 60_000

/** Reserves weight in the budget for work in flight; throws `capacity_exhausted` or `server_busy`. */
export type Reserve = (bytes: number) => void

/** The body of a request that is JSON. */
export interface JsonBody {
  readonly bytes: Buffer
  /** `null`: it is too short to be heavy. */
  readonly scan: JsonScan | null
}

/** What is shorter is not scanned. */
export const LIGHT_BYTES = 2_000
/** No more is read while so much has not been scanned. */
const UNSCANNED_BYTES = 65_536
/** Of one body that nobody wants, in one turn of the event loop. */
const DISCARDED_BYTES = 262_144
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

/**
 * A request was answered before its body was read. Many clients look at the answer only once they have sent everything, and lose it when the
 * connection is closed before. So the rest is read and discarded for a while, as much in each turn of the event loop as all such bodies
 * together may take.
 */
export function discardRest(incoming: IncomingMessage, longestMs: number): void {
  if (incoming.complete || incoming.destroyed) return
  // Sends what is left of the answer first.
  const cutting = setTimeout(() => incoming.socket.destroySoon(), longestMs)
  const stop = () => clearTimeout(cutting)
  let left = DISCARDED_BYTES
  const goOn = () => {
    left = DISCARDED_BYTES
    incoming.resume()
    return true
  }
  // A reader that gave up would keep what comes.
  incoming.pause().removeAllListeners('data').removeAllListeners('readable').once('close', stop).once('end', stop)
  // Marks it as read from, or Node reads the rest by itself as fast as it comes.
  incoming.read()
  incoming.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left > 0) return
    incoming.pause()
    inTurns(goOn)
  })
  inTurns(goOn)
}

/** Node's request for each `Request` that the listener passes on. */
const known = new WeakMap<Request, IncomingMessage>()

export function rememberIncoming(request: Request, incoming: IncomingMessage): void {
  known.set(request, incoming)
}

/** `undefined` for a request that came over no connection. */
export function incomingOf(request: Request): IncomingMessage | undefined {
  return known.get(request)
}

export function stalled(): HoldfastError {
  return new HoldfastError('request_stalled', `the body did not go on for ${BODY_PATIENCE_MS / 1000} seconds`)
}

export function brokenOff(cause?: unknown): HoldfastError {
  return new HoldfastError('request_cancelled', 'the body broke off before its end', {}, { cause })
}

export function tooLarge(limitBytes: number): HoldfastError {
  const limit = `${limitBytes} bytes (${limitBytes / 1024 / 1024} MiB)`
  return new HoldfastError('payload_too_large', `the body is larger than ${limit}`, { limit_bytes: limitBytes })
}
