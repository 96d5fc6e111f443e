/**
 * Parts of a file by RFC 9110: the header `Range` for one range of bytes, and the conditions under which it counts.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Several ranges, other units and what cannot be read are as if not asked for: the answer is the whole.
 */
import { HoldfastError } from '@holdfast/protocol'

const ONE_RANGE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/

export interface ByteRange {
  readonly offset: number
  readonly length: number
}

/** `null`: the whole. Throws `range_not_satisfiable` when the file has no such bytes. */
export function rangeOf(header: string | undefined, size: number): ByteRange | null {
  const [, first = '', last = ''] = ONE_RANGE.exec(header ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '') return suffixOf(Number(last), size)
  const offset = Number(first)
  if (last !== '' && Number(last) < offset) return null
  if (offset >= size) throw unsatisfiable(size)
  const end = last === '' ? size : Math.min(Number(last) + 1, size)
  return { offset, length: end - offset }
}

function suffixOf(wanted: number, size: number): ByteRange | null {
  if (wanted === 0) throw unsatisfiable(size)
  // Nothing can be said of a range without bytes.
  if (size === 0) return null
  const length = Math.min(wanted, size)
  return { offset: size - length, length }
}

function unsatisfiable(size: number): HoldfastError {
  return new HoldfastError('range_not_satisfiable', `Range: the file has ${size} bytes and none of those`, { size })
}

/** What a file is known by between two requests. */
export interface Validators {
  readonly etag: string
  readonly lastModified: string
}

/**
 * Whether a range still belongs to what the client has. A weak tag never says so for certain; a date does when the file was left alone
 * for a second before, so that no change hides in the same one.
 */
export function isSameForRange(ifRange: string | undefined, { lastModified }: Validators, modifiedAt: Date, now: number): boolean {
  if (ifRange === undefined) return true
  return ifRange === lastModified && now - modifiedAt.getTime() >= 2_000
}

/** `If-None-Match`, by weak comparison. */
export function isUnchanged(ifNoneMatch: string | undefined, { etag }: Validators): boolean {
  if (ifNoneMatch === undefined) return false
  const weak = (tag: string) => tag.trim().replace(/^W\//, '')
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => weak(tag) === weak(etag))
}
