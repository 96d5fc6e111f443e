/**
 * The store's `?` → PostgreSQL's `$1`, `$2`, …, once per text.
 *
 * Stands beside the flow. A `?` inside a string, a quoted name or a comment is text and stays.
 */

/** Quoted things and comments, or a placeholder. */
const PARTS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/g
/** A prepared statement stays in the server's memory as long as its connection; a text that varies is not worth that. */
const MAX_NAMED = 500

export interface NumberedText {
  readonly text: string
  /** Names the prepared statement; absent beyond the bound. */
  readonly name?: string
}

export function createNumbering(): (text: string) => NumberedText {
  const known = new Map<string, NumberedText>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (known.size >= MAX_NAMED) return { text: numbered(text) }
    const made = { text: numbered(text), name: `holdfast_${known.size}` }
    known.set(text, made)
    return made
  }
}

export function numbered(text: string): string {
  let count = 0
  return text.replaceAll(PARTS, (part) => (part === '?' ? `$${++count}` : part))
}
