/**
 * Messages too large to be parsed: what decides where they go is parsed, the rest stays bytes and is written as it came.
 *
 * Parsing or writing a large message would keep everybody else waiting, and what parsing makes of it can be twenty times its text.
 */
import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { HoldfastError } from '@holdfast/protocol'
import { parseJson } from './exact-json.ts'
import type { JsonScan, MemberSpan } from './json-scan.ts'

/** A message above one of these is not parsed as a whole. */
export const LARGE_BYTES = 262_144
export const LARGE_MEMBERS = 50_000

/** Members up to here are parsed also in a large message, as long as all of them together are no large message. */
const SMALL_BYTES = 16_384
/** Answers that have to be looked at are parsed up to here. */
const LOOKED_AT_BYTES = 2 * 1024 * 1024

export function isLarge({ bytes, members }: Pick<JsonScan, 'bytes' | 'members'>): boolean {
  return bytes > LARGE_BYTES || members > LARGE_MEMBERS
}

/** Stands for a value that was not parsed. `jsonText` writes its bytes. */
export class LargeJson {
  /** Valid UTF-8, on one line. */
  readonly bytes: Buffer
  readonly members: number

  constructor(bytes: Buffer, members: number) {
    this.bytes = bytes
    this.members = members
  }

  parse(): unknown {
    return parseJson(this.bytes.toString('utf8'))
  }

  toJSON(): unknown {
    if (written === null) return this.parse()
    return `${MARK}${written.push(this) - 1}`
  }
}

/** Text of JSON that is kept as bytes: to decode and encode a large message would hold up the event loop. */
export class JsonPieces {
  readonly pieces: readonly Buffer[]
  /** In bytes. */
  readonly length: number

  constructor(pieces: readonly Buffer[]) {
    this.pieces = pieces
    this.length = pieces.reduce((sum, { length }) => sum + length, 0)
  }
}

/** A string unless a large value is in it. */
export type JsonText = string | JsonPieces

export function partsOf(text: JsonText): readonly (string | Buffer)[] {
  return typeof text === 'string' ? [text] : text.pieces
}

/** In one piece, which copies a large text. */
export function wholeOf(text: JsonText): string | Buffer {
  return typeof text === 'string' ? text : Buffer.concat(text.pieces)
}

/** As few buffers as possible without copying those that are given. */
export function encoded(parts: readonly (string | Buffer)[]): readonly Buffer[] {
  const buffers: Buffer[] = []
  let strings = ''
  for (const part of parts) {
    if (typeof part === 'string') strings += part
    else {
      if (strings !== '') buffers.push(Buffer.from(strings))
      buffers.push(part)
      strings = ''
    }
  }
  if (strings !== '') buffers.push(Buffer.from(strings))
  return buffers
}

/** Nobody outside has ever seen it, so no text has it by accident or on purpose. */
const MARK = `large-${randomUUID()}-`
const MARKED = new RegExp(`"${MARK}(\\d+)"`)
let written: LargeJson[] | null = null

/** `JSON.stringify`, for values in which large ones may be. Throws what that does. */
export function jsonText(value: unknown): JsonText {
  const found: LargeJson[] = []
  written = found
  try {
    const text = JSON.stringify(value)
    if (found.length === 0) return text
    // Every second piece is the index of a large one.
    return new JsonPieces(encoded(text.split(MARKED).map((piece, at) => (at % 2 === 0 ? piece : (found[Number(piece)]?.bytes ?? '')))))
  } finally {
    written = null
  }
}

/**
 * The object that was scanned, with its large members as `LargeJson`, on two levels: on one where the second has too many members. `null`: it is
 * not valid JSON in UTF-8, not an object, or has too many members itself.
 */
export function largeObject(bytes: Buffer, scan: JsonScan): Readonly<Record<string, unknown>> | null {
  if (scan.problem !== null || !scan.isObject || scan.isFirstCrowded || !isUtf8(bytes)) return null
  let smallBytes = 0
  const small = ({ from, to, members }: MemberSpan) => {
    const length = to - from
    const isSmall = length <= SMALL_BYTES && members <= SMALL_BYTES && smallBytes + length <= LARGE_BYTES
    if (!isSmall) return new LargeJson(bytes.subarray(from, to), members)
    smallBytes += length
    return parseJson(bytes.toString('utf8', from, to))
  }
  const named = (span: MemberSpan, value: unknown) =>
    [String(JSON.parse(bytes.toString('utf8', span.nameFrom, span.nameTo))), value] as const
  const below = Map.groupBy(scan.isSecondCrowded ? [] : scan.second, ({ parent }) => parent)
  const value = (span: MemberSpan, index: number) => {
    const inner = below.get(index)
    if (inner === undefined || span.to - span.from <= SMALL_BYTES) return small(span)
    return Object.fromEntries(inner.map((each) => named(each, small(each))))
  }
  return Object.fromEntries(scan.first.map((span, index) => named(span, value(span, index))))
}

/** The object with its large members parsed after all, for those who have to look at them. Throws `mcp_message_too_large`. */
export function parsedMembers<T extends Readonly<Record<string, unknown>>>(object: T, limitBytes = LOOKED_AT_BYTES): T {
  const large = Object.values(object).filter((value) => value instanceof LargeJson)
  if (large.length === 0) return object
  const sum = (amounts: readonly number[]) => amounts.reduce((one, other) => one + other, 0)
  if (sum(large.map(({ bytes }) => bytes.length)) > limitBytes || sum(large.map(({ members }) => members)) > LARGE_MEMBERS)
    throw new HoldfastError(
      'mcp_message_too_large',
      `the answer of the MCP server is above ${limitBytes} bytes or ${LARGE_MEMBERS} members, and has to be read here`,
      { limit_bytes: limitBytes, limit_members: LARGE_MEMBERS },
    )
  const parsed = ([name, value]: [string, unknown]) => [name, value instanceof LargeJson ? value.parse() : value] as const
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same members
  return Object.fromEntries(Object.entries(object).map(parsed)) as T
}
