/**
 * No regular expression of the product takes more than linear time: each is run against long adversarial strings.
 *
 * The patterns are collected from the syntax trees of all modules, so a new one is covered without an entry here. A pattern that is put
 * together at run time needs a sample of each part that is not a constant of its module (`SAMPLES`).
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAst } from 'vitest/node'

const ROOT = join(import.meta.dirname, '..')
const LENGTH = 20_000
/** CPU time of this thread, so other processes do not count. Linear patterns take less than 1 ms, quadratic ones more than 150 ms. */
const LIMIT_MS = 50
/** A first look with shorter strings: only pumps that take longer than this are tried at full length. */
const SHORT_LENGTH = 2500
const SUSPICIOUS_MS = 0.7

/** What stands in a pattern for a part that is only known at run time, by file and expression. */
const SAMPLES: Readonly<Record<string, string>> = {
  "packages/protocol/src/box/box-error.ts: Object.keys(CODES).join('|')": 'ValueError|BoxError',
  'packages/server/src/ingress/preview/outward-headers.ts: port': '8080',
  [String.raw`packages/server/src/ingress/sockets/socket-table.ts: row.path.replaceAll(/\{\w+\}/g, '([^/]+)')`]:
    '/v1/sessions/([^/]+)/terminals/([^/]+)',
  'packages/server/src/mcp/share/large-json.ts: randomUUID()': '01234567-89ab-cdef-0123-456789abcdef',
  "packages/server/src/mcp/launch/path-rewriting.ts: trees.join('|')": '/project|/project/venv',
  [String.raw`packages/server/src/tools/session-skills.ts: SKILLS_TARGET.replaceAll('.', String.raw${'`'}\.${'`'})`]: '/skills',
}

interface Pattern {
  readonly place: string
  readonly regex: RegExp
}

/** A node of a syntax tree, as far as this test looks at it. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function* nodesIn(node: Node): Generator<Node> {
  yield node
  for (const member of Object.values(node).flat()) if (isNode(member)) yield* nodesIn(member)
}

function patternsIn(path: string): readonly Pattern[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  // oxlint-disable-next-line typescript/no-deprecated -- what replaces it is exported by Vite, which comes only with Vitest
  const nodes = [...nodesIn(parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }) as unknown as Node)]
  const constants = new Map(
    nodes.flatMap((node) =>
      node.type === 'VariableDeclarator' && isNode(node['id']) ? [[node['id']['name'], node['init']] as const] : [],
    ),
  )

  /** The text that an expression gives; throws for one that has neither a constant nor a sample. */
  function textOf(node: unknown): string {
    if (!isNode(node)) throw new Error(`${path}: a pattern without text`)
    const sample = SAMPLES[`${path}: ${text.slice(node.start, node.end)}`]
    if (sample !== undefined) return sample
    if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value']
    if (node.type === 'Literal' && node['value'] instanceof RegExp) return node['value'].source
    if (node.type === 'Identifier' && constants.has(node['name'])) return textOf(constants.get(node['name']))
    if (node.type === 'BinaryExpression' && node['operator'] === '+') return textOf(node['left']) + textOf(node['right'])
    if (node.type === 'TaggedTemplateExpression') return templateText(node['quasi'] as Node, 'raw')
    if (node.type === 'TemplateLiteral') return templateText(node, 'cooked')
    throw new Error(`${path}: ${text.slice(node.start, node.end)} is not a constant; give a sample of it in ${import.meta.filename}`)
  }

  function templateText(template: Node, form: 'raw' | 'cooked'): string {
    const [first, ...rest] = (template['quasis'] as readonly { value: Record<'raw' | 'cooked', string> }[]).map(({ value }) => value[form])
    const holes = template['expressions'] as readonly Node[]
    return rest.reduce((whole, part, index) => whole + textOf(holes[index]) + part, first ?? '')
  }

  return nodes.flatMap((node): readonly Pattern[] => {
    const place = `${path}: ${text.slice(node.start, node.end)}`
    if (node.type === 'Literal' && node['value'] instanceof RegExp) return [{ place, regex: node['value'] }]
    const isConstructed = node.type === 'NewExpression' || node.type === 'CallExpression'
    if (!isConstructed || !isNode(node['callee']) || node['callee']['name'] !== 'RegExp') return []
    const [source, flags] = node['arguments'] as readonly Node[]
    return [{ place, regex: new RegExp(textOf(source), flags === undefined ? '' : textOf(flags)) }]
  })
}

const patterns = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: ROOT })
  .filter((path) => !path.endsWith('.test.ts') && !path.includes('/contract/'))
  .toSorted()
  .flatMap(patternsIn)

const COMMON = ['1', 'a', ' ', '\n', '-', '.', '/', '"', ',', '#', 'é']
const SUFFIXES = ['', '\u0001', 'b!']

/** Texts that the pattern matches, the shortest first; none where fast-check does not know a part of its grammar. */
function matchesOf({ source, flags, multiline }: RegExp): readonly string[] {
  // For some of these fast-check searches without end.
  if (multiline) return []
  try {
    const simple = new RegExp(source.replaceAll(/\\p\{\w+\}/giu, String.raw`\w`), flags.replaceAll(/[giy]/gu, ''))
    const texts = fc.sample(fc.stringMatching(simple), { numRuns: 20, seed: 1 }).map((text) => text.slice(0, 24))
    return [...new Set(texts)].toSorted((one, other) => one.length - other.length).slice(0, 4)
  } catch {
    return []
  }
}

type Pump = (length: number) => string

/** A prefix, one or two characters many times, and a suffix, made of what the pattern names and of what it matches. */
function pumpsFor(regex: RegExp): readonly Pump[] {
  const named = [...new Set(regex.source.match(/[^\\()|?:[\]{}^$]/gu) ?? [])].slice(0, 24)
  const pumps = new Map<string, Pump>()
  const add = (prefix: string, unit: string, suffix: string) =>
    pumps.set(JSON.stringify([prefix, unit, suffix]), (length) => prefix + unit.repeat(length / unit.length) + suffix)
  for (const character of [...COMMON, ...named])
    for (const suffix of SUFFIXES) for (const prefix of ['', named[0] ?? 'a']) add(prefix, character, suffix)
  for (const one of named.slice(0, 6)) for (const other of COMMON) add('', one + other, '\u0001')
  for (const text of matchesOf(regex))
    for (let at = 0; at < text.length; at += 1)
      for (const unit of [text.slice(at, at + 1), text.slice(at, at + 2), ' ', '1'])
        for (const suffix of [text.slice(at + 1), '\u0001']) add(text.slice(0, at), unit, suffix)
  return [...pumps.values()]
}

/** As `replaceAll` and `split` use it: from every place where it could begin. */
function cpuMs(regex: RegExp, text: string): number {
  const everywhere = regex.sticky ? regex : new RegExp(regex.source, regex.flags.includes('g') ? regex.flags : `${regex.flags}g`)
  everywhere.lastIndex = 0
  const before = process.threadCpuUsage()
  text.replace(everywhere, '')
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** Short ones first: exponential patterns would not end at the longer ones, nor cubic ones at the longest. */
const LENGTHS = [16, 22, 28, 400, SHORT_LENGTH, 7000, LENGTH]

/** The text, shortened, for which the pattern takes too long; `null` when there is none. */
function slowCase(regex: RegExp): string | null {
  for (const pump of pumpsFor(regex)) {
    for (const length of LENGTHS) {
      const text = pump(length)
      const taken = cpuMs(regex, text)
      // Twice, because compiling the pattern or collecting garbage may have taken the time.
      if (taken > LIMIT_MS && cpuMs(regex, text) > LIMIT_MS) return `${JSON.stringify(pump(6))} of ${length}: ${taken.toFixed(0)} ms`
      if (length === SHORT_LENGTH && taken < SUSPICIOUS_MS) break
    }
  }
  return null
}

describe('the guard against slow patterns', () => {
  test.each([
    [/ *, */],
    [/^-+|-+$/g],
    [/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i],
    [/^\s*(?:-e\b|file:)|@\s*file:/m],
    [/^Bearer +(\S+ *)+;$/],
    [/(?:[^/?#]*@)?[^/?#:]*:\d+/],
  ])('finds that %s is not linear', (regex) => {
    expect(slowCase(regex)).not.toBeNull()
  })

  test('sees every pattern of the product', () => {
    expect(patterns.length).toBeGreaterThan(200)
  })
})

describe('every regular expression of the product', () => {
  test('takes linear time for any text', () => {
    const slow = patterns.flatMap(({ place, regex }) => {
      const found = slowCase(regex)
      return found === null ? [] : [`${place} takes too long for ${found}`]
    })
    expect(slow).toEqual([])
  })
})
