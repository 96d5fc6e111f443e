/**
 * JSON that passes through: integers that a JavaScript number cannot hold keep their digits, and what is nested without end is refused.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * Who sends it may want to keep this server busy, so the time depends on the length alone: a reviver that is called for each value, and
 * millions of nested arrays, take seconds for what is read here in a fraction of one.
 */
import { randomUUID } from 'node:crypto'

/** Long enough to lose digits as a number; strings that look so do no harm. */
const MANY_DIGITS = /\d{16}/
/** Deeper than anybody writes, and far from what cannot be written again. */
const MAXIMUM_DEPTH = 1_000
/** What is shorter cannot be nested deeper. */
const SHORT = 2 * MAXIMUM_DEPTH

const INTEGER = /^-?(?:0|[1-9]\d*)$/
const SPACES: readonly number[] = [9, 10, 13, 32]
const [QUOTE, COLON, BACKSLASH] = [34, 58, 92]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125]
const [PLUS, MINUS, POINT, ZERO, NINE, CAPITAL_E, SMALL_E] = [43, 45, 46, 48, 57, 69, 101]

/** Throws `SyntaxError` for what is no JSON, or is nested too deep. */
export function parseJson(text: string): unknown {
  const hasDigits = MANY_DIGITS.test(text)
  if (!hasDigits && text.length <= SHORT) return JSON.parse(text)
  const large = largeIntegers(text)
  return large.length === 0 ? JSON.parse(text) : parseAround(text, large)
}

export function isTooDeep(text: string): boolean {
  if (text.length <= SHORT) return false
  try {
    largeIntegers(text)
    return false
  } catch {
    return true
  }
}

type Span = readonly [from: number, to: number]

/** Where they stand. Throws `SyntaxError` for what is nested too deep. */
function largeIntegers(text: string): readonly Span[] {
  const found: Span[] = []
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth += 1
      if (depth > MAXIMUM_DEPTH) throw new SyntaxError(`it is nested more than ${MAXIMUM_DEPTH} deep`)
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1
    else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(text, at)
      if (end - at >= 16 && isLargeInteger(text.slice(at, end)) && !isName(text, end)) found.push([at, end])
      at = end - 1
    }
  }
  return found
}

function isLargeInteger(token: string): boolean {
  return INTEGER.test(token) && !Number.isSafeInteger(Number(token))
}

/** Of a member, where a text may stand and a number may not. */
function isName(text: string, end: number): boolean {
  let next = end
  while (SPACES.includes(text.charCodeAt(next))) next += 1
  return text.charCodeAt(next) === COLON
}

/** Of its last quote, or of the text. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === BACKSLASH) before -= 1
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}

/** Behind all that can belong to one: whether it is one is for the parser to say. */
function endOfNumber(text: string, from: number): number {
  let end = from + 1
  while (end < text.length && isOfNumber(text.charCodeAt(end))) end += 1
  return end
}

function isOfNumber(code: number): boolean {
  return isDigit(code) || code === MINUS || code === PLUS || code === POINT || code === SMALL_E || code === CAPITAL_E
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

/** They become texts that nobody else could have written, and then themselves. */
function parseAround(text: string, spans: readonly Span[]): unknown {
  const mark = `${randomUUID()} `
  const pieces: string[] = []
  let last = 0
  for (const [from, to] of spans) {
    pieces.push(text.slice(last, from), `"${mark}${text.slice(from, to)}"`)
    last = to
  }
  return restored(JSON.parse(`${pieces.join('')}${text.slice(last)}`), mark)
}

interface RawJson {
  rawJSON(text: string): unknown
}

function restored(root: unknown, mark: string): unknown {
  const whole: unknown[] = [root]
  const left: object[] = [whole]
  const look = (node: object, key: string | number, value: unknown) => {
    if (typeof value === 'object' && value !== null) left.push(value)
    else if (typeof value === 'string' && value.startsWith(mark))
      // Not assigned: a member may be called `__proto__`.
      Object.defineProperty(node, key, { value: raw(value.slice(mark.length)), enumerable: true, writable: true, configurable: true })
  }
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (Array.isArray(node)) for (let at = 0; at < node.length; at += 1) look(node, at, node[at])
    else for (const [key, value] of Object.entries(node)) look(node, key, value)
  }
  return whole[0]
}

function raw(digits: string): unknown {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library of types does not know it yet
  return (JSON as unknown as RawJson).rawJSON(digits)
}
