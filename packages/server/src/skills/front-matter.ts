/**
 * The text of a skill: YAML between two lines of `---` at the very top, then the instructions.
 *
 * Stands beside the flow.
 *
 * Three keys are known. All others, the order of all and their comments belong to whoever wrote them, and stay when the text is written anew.
 */
import { HoldfastError } from '@holdfast/protocol'
import { Document, isMap, parseDocument } from 'yaml'

/** Longer ones are written by nobody. */
const MAXIMUM_FRONT_MATTER_BYTES = 64 * 1024
const MARKER = '---'

export interface SkillText {
  /** Empty where it does not say. */
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly instructions: string
}

/** Throws `invalid_request` for front matter that is no YAML; one that is YAML and no mapping says nothing. */
export function parseSkillText(text: string): SkillText {
  const { yaml, instructions } = split(text)
  const fields = fieldsOf(yaml)
  return {
    name: wordOf(fields['name']),
    displayName: wordOf(fields['display_name']),
    description: wordOf(fields['description']),
    instructions,
  }
}

/** The text with these values, and with everything else of its front matter as it is. */
export function rewriteSkillText(text: string, { name, displayName, description, instructions }: SkillText): string {
  const { yaml } = split(text)
  const parsed = documentOf(yaml)
  const document = isMap(parsed.contents) ? parsed : new Document({})
  const before = fieldsOf(yaml)
  for (const [key, value] of [
    ['name', name],
    ['display_name', displayName],
    ['description', description],
  ] as const) {
    if (value.trim() === '') document.delete(key)
    else if (wordOf(before[key]) !== value) document.set(key, value)
  }
  const written = document.toString({ lineWidth: 0 })
  return `${MARKER}\n${written.endsWith('\n') ? written : `${written}\n`}${MARKER}\n\n${instructions}`
}

/** `yaml` is empty where there is no front matter. Lines may end in CRLF. */
function split(text: string): { readonly yaml: string; readonly instructions: string } {
  const whole = text.startsWith('\uFEFF') ? text.slice(1) : text
  const first = lineAt(whole, 0)
  if (first.text !== MARKER) return { yaml: '', instructions: whole }
  for (let at = first.next; at < whole.length;) {
    const line = lineAt(whole, at)
    if (line.text === MARKER) return { yaml: whole.slice(first.next, at), instructions: whole.slice(line.next).replace(/^[\r\n]+/, '') }
    at = line.next
  }
  return { yaml: '', instructions: whole }
}

/** Without the white space at its end, and where the next one begins. */
function lineAt(text: string, at: number): { readonly text: string; readonly next: number } {
  const end = text.indexOf('\n', at)
  const next = end === -1 ? text.length : end + 1
  // A marker is short, so a long line need not be cut out.
  return { text: next - at > 80 ? '' : text.slice(at, next).trimEnd(), next }
}

function fieldsOf(yaml: string): Readonly<Record<string, unknown>> {
  const document = documentOf(yaml)
  if (!isMap(document.contents)) return {}
  try {
    const value: unknown = document.toJS({ maxAliasCount: 20 })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a mapping becomes an object; its values are looked at one by one
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch (cause) {
    throw notYaml(cause)
  }
}

function documentOf(yaml: string): Document.Parsed {
  if (yaml.length > MAXIMUM_FRONT_MATTER_BYTES) throw notYaml(new RangeError('it is too long'))
  let document: Document.Parsed
  try {
    document = parseDocument(yaml, { logLevel: 'silent' })
  } catch (cause) {
    // Nested too deep for the parser.
    throw notYaml(cause)
  }
  if (document.errors.length > 0) throw notYaml(document.errors[0])
  return document
}

function notYaml(cause: unknown): HoldfastError {
  const reason = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : ''
  return new HoldfastError('invalid_request', `the front matter of the skill cannot be read as YAML: ${reason}`, {}, { cause })
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
