/**
 * What the command reads: nothing, a text that is there at once, or a stream that is passed on as it comes.
 *
 * A short text travels with the request. Everything else is sent piece by piece while the command runs.
 */
import { isUtf8 } from 'node:buffer'
import { fstatSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

export type Input =
  | { readonly kind: 'none' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'stream'; readonly pieces: AsyncIterable<Uint8Array> }

const STDIN = 0
/** A request takes at most 2 MiB, and JSON may double some characters. */
const LONGEST_TEXT = 256 * 1024
/** How long an input is waited for that may end at once. */
const PATIENCE_MS = 50

/** `isWanted`: also from a terminal. */
export async function inputOf(isWanted: boolean): Promise<Input> {
  const { stdin } = process
  if (stdin.isTTY) return isWanted ? { kind: 'stream', pieces: stdin } : { kind: 'none' }
  return isWanted || hasContent(STDIN) ? gather(stdin) : { kind: 'none' }
}

export async function gather(source: AsyncIterable<Uint8Array>): Promise<Input> {
  const pieces = source[Symbol.asyncIterator]()
  const head: Uint8Array[] = []
  let size = 0
  let next = pieces.next()
  const patience = new AbortController()
  const late = delay(PATIENCE_MS, null, { signal: patience.signal }).catch(() => null)
  try {
    while (size <= LONGEST_TEXT) {
      const read = await Promise.race([next, late])
      if (read === null) break
      if (read.done === true) return whole(Buffer.concat(head))
      head.push(read.value)
      size += read.value.length
      next = pieces.next()
    }
  } finally {
    patience.abort()
  }
  return { kind: 'stream', pieces: rest() }

  async function* rest(): AsyncGenerator<Uint8Array, void, void> {
    yield* head
    for (let read = await next; read.done !== true; read = await pieces.next()) yield read.value
  }
}

/** Text travels as JSON, which holds no other bytes. */
function whole(bytes: Buffer): Input {
  return isUtf8(bytes) ? { kind: 'text', text: bytes.toString('utf8') } : { kind: 'stream', pieces: one(bytes) }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes
}

/** A device such as /dev/null has nothing to say. */
function hasContent(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor)
    return stat.isFile() || stat.isFIFO() || stat.isSocket()
  } catch {
    // It is closed.
    return false
  }
}
