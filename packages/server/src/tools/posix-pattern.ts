/**
 * A regular expression as models write them → one that the guest's POSIX engine understands, or a failure that says what to write.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * Only lines are asked whether they match, so lazy quantifiers, names and non-capturing groups mean nothing and are left out. What would
 * need backtracking (look-around, backreferences) is refused. Why this engine: docs/adr/0015-search-in-the-guest.md
 */
import { ToolFailure } from './tool-failure.ts'

export interface PosixPattern {
  readonly regex: string
  readonly ignoreCase: boolean
}

/** Inside of brackets, where POSIX knows no backslash. */
const CLASS_ESCAPES: Readonly<Record<string, string>> = { d: '0-9', w: '[:alnum:]_', s: '[:space:]' }
const CONTROL_ESCAPES: Readonly<Record<string, string>> = { t: '\t', r: '\r', f: '\f', v: '\v', n: '\n' }
/** What the engine knows itself; `\d` and `\D` are the guest's. */
const KNOWN_ESCAPES = /^[dDwWsSbB]$/
const ANCHOR_ESCAPES: Readonly<Record<string, string>> = { A: '^', z: '$', Z: '$' }
const OPENING = /\(\?(?::|P?<[A-Za-z_]\w*>)/y
const INTERVAL = /\{(?:(?<least>\d+)(?<comma>,(?<most>\d*))?|,(?<only>\d+))\}/y
const CODE_POINT = /\\(?:x(?<byte>[0-9a-fA-F]{2})|u(?<four>[0-9a-fA-F]{4})|u\{(?<any>[0-9a-fA-F]{1,6})\})/y

export function posixPattern(pattern: string): PosixPattern {
  const flags = /^\(\?(?<letters>[imsu]+)\)/.exec(pattern)
  const reader = new PatternReader(pattern.slice(flags?.[0].length ?? 0))
  return { regex: reader.read(), ignoreCase: flags?.groups?.['letters']?.includes('i') === true }
}

class PatternReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): string {
    let regex = ''
    while (this.#at < this.#text.length) regex += this.#piece()
    return regex
  }

  #piece(): string {
    const letter = this.#letter()
    if (letter === '[') return this.#brackets()
    if (letter === '\\') return this.#escape()
    if (letter === '(') return this.#group()
    if (letter === '{') return this.#interval()
    this.#at += letter.length
    if (/[*+?]/.test(letter)) return `${letter}${this.#skipLaziness()}`
    return this.#literal(letter)
  }

  #letter(at = this.#at): string {
    return String.fromCodePoint(this.#text.codePointAt(at) ?? 0)
  }

  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#text)
    if (found !== null) this.#at += found[0].length
    return found
  }

  /** A character of several bytes is repeated as a whole. */
  #literal(letter: string): string {
    return letter > '\u007f' && /[*+?{]/.test(this.#text.charAt(this.#at)) ? `(${letter})` : letter
  }

  #skipLaziness(): string {
    if (this.#text.charAt(this.#at) === '?') this.#at += 1
    return ''
  }

  #group(): string {
    if (this.#match(OPENING) !== null) return '('
    if (this.#text.startsWith('(?', this.#at))
      throw new ToolFailure('pattern: look-around and flags inside are not supported; use exec with grep -P, or several simpler patterns')
    this.#at += 1
    return '('
  }

  #interval(): string {
    const groups = this.#match(INTERVAL)?.groups
    if (groups === undefined) {
      this.#at += 1
      return String.raw`\{`
    }
    const { least, comma, most, only } = groups
    this.#skipLaziness()
    return only === undefined ? `{${least}${comma === undefined ? '' : `,${most}`}}` : `{0,${only}}`
  }

  #escape(): string {
    const point = this.#codePoint()
    if (point !== null) return this.#literal(quoted(point))
    const letter = this.#letter(this.#at + 1)
    if (this.#at + 1 >= this.#text.length) throw new ToolFailure('pattern: ends with a backslash')
    if (/[1-9]/.test(letter) || letter === 'k') throw new ToolFailure('pattern: backreferences are not supported; use exec with grep -P')
    this.#at += 1 + letter.length
    if (KNOWN_ESCAPES.test(letter)) return `\\${letter}`
    const other = CONTROL_ESCAPES[letter] ?? ANCHOR_ESCAPES[letter]
    if (other !== undefined) return other
    if (/[A-Za-z0-9]/.test(letter)) throw new ToolFailure(`pattern: \\${letter} is not supported; use exec with grep -P`)
    return this.#literal(quoted(letter))
  }

  #codePoint(): string | null {
    const groups = this.#match(CODE_POINT)?.groups
    if (groups === undefined) return null
    const value = Number.parseInt(groups['byte'] ?? groups['four'] ?? groups['any'] ?? '0', 16)
    if (value === 0 || value > 0x10_ffff) throw new ToolFailure('pattern: names a character that no line has')
    return String.fromCodePoint(value)
  }

  /** Characters beyond ASCII have several bytes, and brackets are about one: they stand beside the brackets. */
  #brackets(): string {
    this.#at += 1
    const isNegated = this.#text.charAt(this.#at) === '^'
    if (isNegated) this.#at += 1
    const members = this.#members()
    const beyond = members.filter((member) => member > '\u007f')
    if (beyond.length > 0 && isNegated)
      throw new ToolFailure('pattern: [^…] takes ASCII characters only; use exec with grep -P for other scripts')
    const inside = bracketed(members.filter((member) => member <= '\u007f'))
    if (inside === '^' && !isNegated) return String.raw`\^`
    if (beyond.length === 0) return `[${isNegated ? '^' : ''}${inside}]`
    return `(${[...beyond, ...(inside === '' ? [] : [`[${inside}]`])].join('|')})`
  }

  #members(): readonly string[] {
    const members: string[] = []
    for (let isFirst = true; ; isFirst = false) {
      if (this.#at >= this.#text.length) throw new ToolFailure('pattern: a [ has no ]')
      const named = /\[:[a-z]+:\]/y
      const letter = this.#letter()
      if (letter === ']' && !isFirst) break
      members.push(this.#match(named)?.[0] ?? this.#member())
    }
    this.#at += 1
    return members
  }

  /** One character, one range, or one kind of characters. */
  #member(): string {
    const first = this.#memberLetter()
    if (first.length > 2 || this.#text.charAt(this.#at) !== '-' || ']'.includes(this.#text.charAt(this.#at + 1))) return first
    this.#at += 1
    const last = this.#memberLetter()
    if (first > '\u007f' || last > '\u007f')
      throw new ToolFailure('pattern: ranges are for ASCII characters only; use exec with grep -P for other scripts')
    if (last < first || last.length > 1) throw new ToolFailure(`pattern: ${first}-${last} is no range`)
    return `${first}-${last}`
  }

  #memberLetter(): string {
    const point = this.#codePoint()
    if (point !== null) return point
    const letter = this.#letter()
    this.#at += letter.length
    if (letter !== '\\') return letter
    const escaped = this.#letter()
    this.#at += escaped.length
    const known = CLASS_ESCAPES[escaped] ?? CONTROL_ESCAPES[escaped]
    if (known !== undefined) return known
    if (/[A-Za-z0-9]/.test(escaped)) throw new ToolFailure(`pattern: \\${escaped} in brackets is not supported; use exec with grep -P`)
    return escaped
  }
}

/** `]` first, `^` not first and `-` at an end: where POSIX takes them for themselves. */
function bracketed(members: readonly string[]): string {
  const has = (letter: string) => (members.includes(letter) ? letter : '')
  const rest = members.filter((member) => !['^', '-', ']', '['].includes(member)).join('')
  const before = `${has(']')}${has('[')}${rest}`
  return before === '' ? `${has('-')}${has('^')}` : `${before}${has('^')}${has('-')}`
}

/** The character itself, whatever it would mean. */
function quoted(letter: string): string {
  return /[\\^$.*+?()[\]{}|]/.test(letter) ? `\\${letter}` : letter
}
