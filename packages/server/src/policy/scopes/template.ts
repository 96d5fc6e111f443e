/**
 * Scope templates: `{name}` and literal text, with `{{` and `}}` for the braces themselves, as in Python's `format`.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * Formats, conversions, attributes and indexes are refused: a scope only puts values next to each other.
 * Holds always: every text gives a template or `invalid_request`, and two different texts give two different templates.
 */
import { HoldfastError, MAXIMUM_TEMPLATE_LENGTH, ScopeText, VariableName, fieldProblems, problemSentence } from '@holdfast/protocol'

export type TemplatePart = { readonly literal: string } | { readonly variable: string }

export interface Template {
  readonly text: string
  readonly parts: readonly TemplatePart[]
  /** Every variable once, in the order of appearance. */
  readonly variables: readonly string[]
}

/** Throws `invalid_request` that names the template and, where there is one, the character that is wrong. */
export function parseTemplate(text: string): Template {
  const checked = ScopeText.safeParse(text)
  if (!checked.success) throw refusal(text, problemSentence(fieldProblems(checked.error)))
  const parts: TemplatePart[] = []
  let index = 0
  while (index < text.length) {
    const part = partAt(text, index)
    parts.push(part)
    index += 'literal' in part ? sourceLength(part.literal) : part.variable.length + 2
  }
  return { text, parts, variables: [...new Set(parts.flatMap((part) => ('variable' in part ? [part.variable] : [])))] }
}

function partAt(text: string, index: number): TemplatePart {
  const character = text.charAt(index)
  if (character !== '{' && character !== '}') return { literal: /^[^{}]+/.exec(text.slice(index))?.[0] ?? '' }
  if (text.charAt(index + 1) === character) return { literal: character }
  if (character === '}') throw refusal(text, 'this "}" closes nothing; write "}}" for the brace itself', index)
  return { variable: nameAt(text, index) }
}

function nameAt(text: string, open: number): string {
  const close = text.indexOf('}', open)
  const inner = text.indexOf('{', open + 1)
  if (inner !== -1 && inner < close) throw refusal(text, 'a "{" inside of braces', inner)
  if (close === -1) throw refusal(text, 'this "{" is not closed; write "{{" for the brace itself', open)
  const name = text.slice(open + 1, close)
  if (name === '') throw refusal(text, 'there is no name between the braces', open)
  const extra = /[!:.[]/.exec(name)
  if (extra !== null) throw refusal(text, 'formats, conversions, attributes and indexes are not supported', open + 1 + extra.index)
  const checked = VariableName.safeParse(name)
  if (!checked.success) throw refusal(text, problemSentence(fieldProblems(checked.error)), open + 1)
  return name
}

/** A brace stands twice in the source. */
function sourceLength(literal: string): number {
  return literal === '{' || literal === '}' ? 2 : literal.length
}

function refusal(text: string, problem: string, index?: number): HoldfastError {
  const shown = text.length > MAXIMUM_TEMPLATE_LENGTH ? `${text.slice(0, MAXIMUM_TEMPLATE_LENGTH)}…` : text
  if (index === undefined) return new HoldfastError('invalid_request', `the scope '${shown}' cannot be used: ${problem}`, { scope: shown })
  // Counted as people count: from one, and a character outside of the basic plane is one character.
  const position = Array.from(text.slice(0, index)).length + 1
  return new HoldfastError('invalid_request', `the scope '${shown}' is wrong at character ${position}: ${problem}`, {
    scope: shown,
    position,
  })
}
