/**
 * What a request to the guest must be before a byte of it is sent: each rule one clear sentence, `invalid_request`.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { TerminalSize } from './inside.ts'

const MAX_UINT32 = 0xffff_ffff
const MAX_UINT16 = 0xffff
const MAX_TAG_BYTES = 128

export function invalid(message: string): HoldfastError<'invalid_request'> {
  return new HoldfastError('invalid_request', message)
}

export function requireNoNul(what: string, text: string): void {
  if (text.includes('\0')) throw invalid(`${what} contains a NUL character, which no program can receive`)
}

export function requireAbsolute(what: string, path: string): void {
  requireNoNul(what, path)
  if (!path.startsWith('/')) throw invalid(`${what} must be absolute inside the sandbox, but is ${JSON.stringify(path.slice(0, 200))}`)
}

/** A whole number that fits a u32 field. */
export function requireCount(what: string, value: number): void {
  if (!Number.isInteger(value) || value < 0 || value > MAX_UINT32)
    throw invalid(`${what} must be a whole number from 0 to ${MAX_UINT32}, but is ${value}`)
}

/** A whole number from 0 on, e.g. an offset in a file. */
export function requireWhole(what: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(`${what} must be a whole number from 0 on, but is ${value}`)
}

/** Never root, and never the number that means "no user". */
export function requireUid(uid: number): void {
  if (!Number.isInteger(uid) || uid < 1 || uid >= MAX_UINT32)
    throw invalid(`uid must be a whole number from 1 to ${MAX_UINT32 - 1}, but is ${uid}`)
}

export function requireTag(tag: string): void {
  requireNoNul('tag', tag)
  const bytes = Buffer.byteLength(tag)
  if (bytes === 0 || bytes > MAX_TAG_BYTES) throw invalid(`tag must have 1 to ${MAX_TAG_BYTES} bytes, but has ${bytes}`)
}

export function requireTerminalSize({ cols, rows }: TerminalSize): void {
  for (const [what, value] of [
    ['cols', cols],
    ['rows', rows],
  ] as const) {
    if (!Number.isInteger(value) || value < 1 || value > MAX_UINT16)
      throw invalid(`${what} must be a whole number from 1 to ${MAX_UINT16}, but is ${value}`)
  }
}
