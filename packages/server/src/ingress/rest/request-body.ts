/**
 * A request's body: as text up to a limit, or as bytes without one, as they come.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The socket has no limit for the time that a request takes, for an upload may take long. So whoever stops sending is sent away here.
 */
import { HoldfastError } from '@holdfast/protocol'
import { scanInTurns } from '../../mcp/share/json-scan.ts'
import { parsedWeight } from '../pipeline/work-budget.ts'

export const BODY_LIMIT_BYTES = 2 * 1024 * 1024

/** How long the next piece may take, and a whole text. */
export const BODY_PATIENCE_MS = 60_000

/** A body that says it is no larger is read whole, which is quicker. */
const SMALL_BYTES = 16 * 1024

/** The body of a request that has none. */
export const NO_BYTES: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
}

/** Can be read once. A body that breaks off rejects with `request_cancelled`: it is never taken for whole. */
export async function* byteBody(request: Request): AsyncGenerator<Uint8Array, undefined> {
  const announced = request.headers.get('content-length')
  if (announced !== null && Number(announced) <= SMALL_BYTES) {
    const bytes = await inTime(request.arrayBuffer().catch(rejectBroken))
    if (bytes.byteLength > 0) yield new Uint8Array(bytes)
    return
  }
  if (request.body === null) return
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader()
  for (;;) {
    const { done, value } = await inTime(reader.read().catch(rejectBroken))
    if (done) return
    yield value
  }
}

/** Reserves weight in the budget for work in flight; throws `capacity_exhausted` or `server_busy`. */
export type Reserve = (bytes: number) => void

/** Text of JSON, weighed: its weight is reserved, it is not nested too deep, and has no more members than allowed. */
export async function readBody(request: Request, maximumMembers: number, reserve: Reserve = () => {}): Promise<string> {
  const announced = request.headers.get('content-length')
  // One that says how long it is can be read whole, which is quicker; one that does not is read as it comes.
  const reading: Promise<ArrayBuffer | Uint8Array> =
    announced === null ? gathered(request.body ?? [], BODY_LIMIT_BYTES, reserve) : readWhole(request, Number(announced), reserve)
  const bytes = await inTime(reading)
  await checkWeight(new Uint8Array(bytes), maximumMembers, reserve)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new HoldfastError('invalid_request', 'the body is not valid UTF-8', {}, { cause })
  }
}

/** Shorter text is not scanned, and counts as if every third byte began a value. */
const LIGHT_BYTES = 2_000

/** Before JSON is parsed: reserves what parsing makes of it. Throws `invalid_request` where it is nested too deep, and `payload_too_large`. */
export async function checkWeight(bytes: Uint8Array, maximumMembers: number, reserve: Reserve): Promise<void> {
  const { length } = bytes
  if (length <= LIGHT_BYTES) return reserve(parsedWeight(length, length / 3) - length)
  const { members, isTooDeep } = await scanInTurns(bytes)
  if (isTooDeep) throw new HoldfastError('invalid_request', 'the body is nested too deep: at most 1000 levels')
  if (members > maximumMembers)
    throw new HoldfastError('payload_too_large', `the body has ${members} members: at most ${maximumMembers}`, {
      limit_members: maximumMembers,
    })
  reserve(parsedWeight(length, members) - length)
}

async function readWhole(request: Request, announcedBytes: number, reserve: Reserve): Promise<ArrayBuffer> {
  if (announcedBytes > BODY_LIMIT_BYTES) throw tooLarge(BODY_LIMIT_BYTES)
  reserve(announcedBytes)
  const bytes = await request.arrayBuffer()
  if (bytes.byteLength > BODY_LIMIT_BYTES) throw tooLarge(BODY_LIMIT_BYTES)
  return bytes
}

/** All of a body of bytes, for one that is a text after all. Throws `payload_too_large`. */
export function wholeBody(body: AsyncIterable<Uint8Array>, limitBytes: number, reserve: Reserve = () => {}): Promise<Buffer> {
  return inTime(gathered(body, limitBytes, reserve))
}

async function gathered(body: AsyncIterable<Uint8Array> | readonly [], limitBytes: number, reserve: Reserve): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limitBytes) throw tooLarge(limitBytes)
    reserve(chunk.length)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function inTime<T>(reading: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(stalled()), BODY_PATIENCE_MS)
  try {
    return await Promise.race([reading, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function rejectBroken(cause: unknown): never {
  throw brokenOff(cause)
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
