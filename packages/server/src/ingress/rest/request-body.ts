/**
 * A request's body: as text up to a limit, or as bytes without one, as they come.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The socket has no limit for the time that a request takes, for an upload may take long. So whoever stops sending is sent away here.
 */
import { HoldfastError } from '@holdfast/protocol'
import { scanInTurns } from '../../mcp/share/json-scan.ts'
import { BODY_PATIENCE_MS, brokenOff, incomingOf, jsonBodyOf, LIGHT_BYTES, stalled, tooLarge } from '../direct-body.ts'
import type { JsonBody, Reserve } from '../direct-body.ts'
import { parsedWeight } from '../pipeline/work-budget.ts'

export const BODY_LIMIT_BYTES = 2 * 1024 * 1024

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

/** Text of JSON, weighed: its weight is reserved, it is not nested too deep, and has no more members than allowed. */
export async function readBody(request: Request, maximumMembers: number, reserve: Reserve = () => {}): Promise<string> {
  const incoming = incomingOf(request)
  const { bytes, scan } =
    incoming === undefined
      ? await scanned(await wholeBody(request.body ?? NO_BYTES, BODY_LIMIT_BYTES, reserve))
      : await jsonBodyOf(incoming, BODY_LIMIT_BYTES, reserve)
  checkWeight({ bytes, scan }, maximumMembers, reserve)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new HoldfastError('invalid_request', 'the body is not valid UTF-8', {}, { cause })
  }
}

export async function scanned(bytes: Buffer): Promise<JsonBody> {
  return { bytes, scan: bytes.length > LIGHT_BYTES ? await scanInTurns(bytes) : null }
}

/** Before JSON is parsed: reserves what parsing makes of it. Throws `invalid_request` where it is nested too deep, and `payload_too_large`. */
export function checkWeight({ bytes: { length }, scan }: JsonBody, maximumMembers: number, reserve: Reserve): void {
  // Shorter text counts as if every third byte began a value.
  if (scan === null) return reserve(parsedWeight(length, length / 3) - length)
  const { members, isTooDeep } = scan
  if (isTooDeep) throw new HoldfastError('invalid_request', 'the body is nested too deep: at most 1000 levels')
  if (members > maximumMembers)
    throw new HoldfastError('payload_too_large', `the body has ${members} members: at most ${maximumMembers}`, {
      limit_members: maximumMembers,
    })
  reserve(parsedWeight(length, members) - length)
}

/** All of a body of bytes, for one that is a text after all. Throws `payload_too_large`. */
export function wholeBody(body: AsyncIterable<Uint8Array>, limitBytes: number, reserve: Reserve = () => {}): Promise<Buffer> {
  return inTime(gathered(body, limitBytes, reserve))
}

async function gathered(body: AsyncIterable<Uint8Array>, limitBytes: number, reserve: Reserve): Promise<Buffer> {
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
