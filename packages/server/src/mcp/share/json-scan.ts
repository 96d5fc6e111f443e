/**
 * Reads the bytes of JSON piece by piece: whether it is valid, how deep and how heavy it is, and where the members of its first two levels are.
 *
 * So a message is weighed before it is parsed, and a large one is passed on without being parsed. Only positions are kept: memory does not depend
 * on what the bytes say. Line breaks between values become blanks in place, so that what is passed on is one line.
 */
import { inTurns } from './loop-turns.ts'

const MAXIMUM_DEPTH = 1_000
/** Members whose positions are kept, on each of the two levels. */
const MAXIMUM_KEPT = 1_000
/** To scan so much takes about a millisecond. */
export const PIECE_BYTES = 65_536

/** Where a member of an object is in the text. */
export interface MemberSpan {
  /** Index of the member of the first level that holds it; -1 on the first level. */
  readonly parent: number
  readonly nameFrom: number
  readonly nameTo: number
  readonly from: number
  readonly to: number
  /** In the value. */
  readonly members: number
}

/** What may come next. Up to `AFTER` that is something between values. */
type State = number
const [VALUE, FIRST_VALUE, FIRST_NAME, NAME, COLON, AFTER, STRING, ESCAPE, HEX] = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const
const [MINUS, ZERO, INTEGER, POINT, FRACTION, EXPONENT, SIGN, POWER, LITERAL] = [9, 10, 11, 12, 13, 14, 15, 16, 17] as const
const OBJECT = 123
const LIST = 91
const LITERALS = new Map([
  [116, Buffer.from('true')],
  [102, Buffer.from('false')],
  [110, Buffer.from('null')],
])
const ESCAPED = new Set(Buffer.from('"\\/bfnrtu'))

export class JsonScan {
  /** Values in objects and lists. */
  members = 0
  /** The same on the first two levels. */
  shallowMembers = 0
  /** Why it is not valid; `null`: nothing is wrong so far. */
  problem: string | null = null
  readonly first: MemberSpan[] = []
  readonly second: MemberSpan[] = []
  /** There are more members on this level than positions are kept. */
  isFirstCrowded = false
  isSecondCrowded = false
  isObject = false
  isTooDeep = false
  bytes = 0

  #state: State = VALUE
  readonly #stack = new Uint8Array(MAXIMUM_DEPTH)
  #depth = 0
  #isName = false
  #hexLeft = 0
  #literal: Buffer | undefined
  #literalAt = 0
  /** Of the member that is being read, on levels 1 and 2. */
  readonly #nameFrom = [0, 0, 0]
  readonly #nameTo = [0, 0, 0]
  readonly #from = [0, 0, 0]
  readonly #before = [0, 0, 0]

  push(bytes: Uint8Array): void {
    const base = this.bytes
    this.bytes += bytes.length
    for (let at = 0; at < bytes.length && this.problem === null; at += 1) {
      if (this.#state === STRING) at = this.#skipText(bytes, at)
      if (at < bytes.length) this.#take(bytes, at, base + at)
    }
  }

  /** No more comes. */
  end(): void {
    if (this.#isNumber()) this.#endValue(this.bytes)
    if (this.problem === null && (this.#state !== AFTER || this.#depth > 0)) this.problem = 'it ends too early'
  }

  /** To the next byte that means something in a text. */
  #skipText(bytes: Uint8Array, from: number): number {
    let at = from
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0
      if (byte === 34 || byte === 92 || byte < 32) return at
    }
    return at
  }

  #take(bytes: Uint8Array, at: number, position: number): void {
    const byte = bytes[at] ?? 0
    const state = this.#state
    if (state === STRING) return this.#takeText(byte, position)
    if (state <= AFTER) {
      if (byte === 32 || byte === 9) return
      if (byte === 10 || byte === 13) {
        bytes[at] = 32
        return
      }
      return this.#takeBetween(byte, position)
    }
    if (state === ESCAPE) {
      this.#hexLeft = 4
      this.#state = byte === 117 ? HEX : STRING
      if (!ESCAPED.has(byte)) this.#fail('a text has an escape that JSON does not know', position)
    } else if (state === HEX) {
      if (!isHex(byte)) return this.#fail('a text has an escape that is not complete', position)
      this.#hexLeft -= 1
      if (this.#hexLeft === 0) this.#state = STRING
    } else if (state === LITERAL) {
      if (byte !== this.#literal?.[this.#literalAt]) return this.#fail('a value is not JSON', position)
      this.#literalAt += 1
      if (this.#literalAt === this.#literal.length) this.#endValue(position + 1)
    } else this.#takeNumber(bytes, at, position)
  }

  #takeText(byte: number, position: number): void {
    if (byte === 92) this.#state = ESCAPE
    else if (byte < 32) this.#fail('a text has a control character', position)
    else if (this.#isName) {
      this.#isName = false
      if (this.#depth <= 2) this.#nameTo[this.#depth] = position + 1
      this.#state = COLON
    } else this.#endValue(position + 1)
  }

  #takeBetween(byte: number, position: number): void {
    const state = this.#state
    if (state === AFTER) {
      const inside = this.#depth === 0 ? 0 : (this.#stack[this.#depth - 1] ?? 0)
      if (byte === 44 && inside !== 0) this.#state = inside === OBJECT ? NAME : VALUE
      else if (inside !== 0 && byte === inside + 2) this.#close(position)
      else this.#fail('there is something where a comma or an end should be', position)
    } else if (state === COLON) {
      if (byte !== 58) return this.#fail('a name has no colon', position)
      this.#state = VALUE
    } else if (state === NAME || state === FIRST_NAME) {
      if (byte === OBJECT + 2 && state === FIRST_NAME) return this.#close(position)
      if (byte !== 34) return this.#fail('there is no name where one should be', position)
      this.#isName = true
      this.#state = STRING
      if (this.#depth <= 2) this.#nameFrom[this.#depth] = position
    } else if (byte === LIST + 2 && state === FIRST_VALUE) this.#close(position)
    else this.#beginValue(byte, position)
  }

  #beginValue(byte: number, position: number): void {
    if (this.#depth > 0) {
      this.members += 1
      if (this.#depth <= 2) {
        this.shallowMembers += 1
        this.#from[this.#depth] = position
        this.#before[this.#depth] = this.members
      }
    } else this.isObject = byte === OBJECT
    if (byte === 34) this.#state = STRING
    else if (byte === OBJECT || byte === LIST) {
      this.isTooDeep = this.#depth === MAXIMUM_DEPTH
      if (this.isTooDeep) return this.#fail(`it is nested more than ${MAXIMUM_DEPTH} deep`, position)
      this.#stack[this.#depth] = byte
      this.#depth += 1
      this.#state = byte === OBJECT ? FIRST_NAME : FIRST_VALUE
    } else if (byte === 45) this.#state = MINUS
    else if (isDigit(byte)) this.#state = byte === 48 ? ZERO : INTEGER
    else {
      this.#literal = LITERALS.get(byte)
      this.#literalAt = 1
      this.#state = LITERAL
      if (this.#literal === undefined) this.#fail('a value is not JSON', position)
    }
  }

  #isNumber(): boolean {
    const state = this.#state
    return state === ZERO || state === INTEGER || state === FRACTION || state === POWER
  }

  #takeNumber(bytes: Uint8Array, at: number, position: number): void {
    const byte = bytes[at] ?? 0
    const next = nextOfNumber(this.#state, byte)
    if (next !== null) this.#state = next
    else if (this.#isNumber()) {
      this.#endValue(position)
      this.#take(bytes, at, position)
    } else this.#fail('a number is not complete', position)
  }

  #close(position: number): void {
    this.#depth -= 1
    this.#endValue(position + 1)
  }

  #endValue(to: number): void {
    this.#state = AFTER
    const level = this.#depth
    if (level === 0 || level > 2 || !this.isObject || this.#stack[level - 1] !== OBJECT) return
    const spans = level === 1 ? this.first : this.second
    const { [level]: nameFrom = 0 } = this.#nameFrom
    const { [level]: nameTo = 0 } = this.#nameTo
    const { [level]: from = 0 } = this.#from
    const members = this.members - (this.#before[level] ?? 0)
    if (spans.length < MAXIMUM_KEPT) spans.push({ parent: level === 1 ? -1 : this.first.length, nameFrom, nameTo, from, to, members })
    else if (level === 1) this.isFirstCrowded = true
    else this.isSecondCrowded = true
  }

  #fail(problem: string, position: number): void {
    this.problem ??= `${problem}, at byte ${position}`
  }
}

/** Scans bytes that are there as a whole, with turns for other work in between. */
export function scanInTurns(bytes: Uint8Array): Promise<JsonScan> {
  const scan = new JsonScan()
  return new Promise((resolve) => {
    let from = 0
    inTurns(() => {
      scan.push(bytes.subarray(from, from + PIECE_BYTES))
      from += PIECE_BYTES
      if (from < bytes.length) return false
      scan.end()
      resolve(scan)
      return true
    })
  })
}

/** The state after one more byte of a number; `null`: the byte does not belong to it. */
function nextOfNumber(state: State, byte: number): State | null {
  const isE = byte === 101 || byte === 69
  if (isDigit(byte)) {
    if (state === MINUS) return byte === 48 ? ZERO : INTEGER
    if (state === POINT || state === FRACTION) return FRACTION
    if (state === EXPONENT || state === SIGN || state === POWER) return POWER
    return state === ZERO ? null : INTEGER
  }
  if (byte === 46) return state === ZERO || state === INTEGER ? POINT : null
  if (isE) return state === ZERO || state === INTEGER || state === FRACTION ? EXPONENT : null
  return state === EXPONENT && (byte === 43 || byte === 45) ? SIGN : null
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57
}

function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 65 && byte <= 70) || (byte >= 97 && byte <= 102)
}
