/** Properties of keys: one hash per conversation, and the readable key that Python would give. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isHoldfastError } from '@holdfast/protocol'
import type { ScopeRequest } from '@holdfast/protocol'
import { scopePolicy } from './scope-policy.ts'
import { readScope } from './scope.ts'

const noTask = () => ''
const NAMES = ['a', 'b', 'launcher_type', 'global', 'task_id']
/** Few characters, so that different values often give one readable key. */
const crowded = fc.oneof(fc.string({ unit: fc.constantFrom('_', 'x', '"', ',', '\\'), maxLength: 3 }), fc.integer({ min: 0, max: 2 }))
const ordinary = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), fc.integer())
const piece = fc.oneof(
  fc.record({ name: fc.constantFrom(...NAMES) }),
  fc.record({ text: fc.constantFrom('_', ':', 'x', '{', '}', 'app', '你', '👋') }),
)
type Piece = { readonly name: string } | { readonly text: string }

const templateOf = (pieces: readonly Piece[]) =>
  pieces.map((each) => ('name' in each ? `{${each.name}}` : each.text.replace(/[{}]/g, '$&$&'))).join('')
const templates = fc
  .tuple(fc.constantFrom(...NAMES), fc.array(piece, { maxLength: 6 }))
  .map(([name, pieces]): readonly Piece[] => [{ name }, ...pieces])
const crowdedRequest = fc.record({
  pieces: fc.constantFrom<readonly Piece[]>(
    [{ name: 'a' }, { text: '_' }, { name: 'b' }],
    [{ name: 'b' }, { text: '_' }, { name: 'a' }],
    [{ name: 'a' }, { name: 'b' }],
    [{ name: 'a' }, { text: '_' }, { name: 'b' }, { text: '_' }, { name: 'b' }],
    [{ name: 'a' }, { text: '"' }],
  ),
  variables: fc.record({ a: crowded, b: crowded }, { requiredKeys: [] }),
})

/** What a request means: its template and, of each variable that it uses, the value as text. */
function meaning({
  pieces,
  variables,
}: {
  readonly pieces: readonly Piece[]
  readonly variables: Readonly<Record<string, string | number>>
}) {
  const used = pieces.flatMap((each) => ('name' in each ? [each.name] : []))
  return { template: templateOf(pieces), values: used.map((name) => String(variables[name] ?? '') || 'unknown') }
}

test('two requests have one hash exactly when template and used values are equal', () => {
  fc.assert(
    fc.property(crowdedRequest, crowdedRequest, (one, other) => {
      const [first, second] = [one, other].map(({ pieces, variables }) => readScope(templateOf(pieces)).keyOf(variables, noTask).keyHash)
      expect(first === second).toBe(JSON.stringify(meaning(one)) === JSON.stringify(meaning(other)))
    }),
    { numRuns: 5000 },
  )
})

test('wherever a readable key is cut into values, each cut is a conversation of its own', () => {
  const words = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }), { minLength: 3, maxLength: 8 })
  fc.assert(
    fc.property(words, fc.constantFrom('_', ':', '","', '\\', '{{', ''), (list, separator) => {
      const join = (part: readonly string[]) => part.join(separator.replace('{{', '{'))
      const keys = list.slice(1).map((_, index) => {
        const variables = { a: join(list.slice(0, index + 1)), b: join(list.slice(index + 1)) }
        return readScope(`({a}${separator}{b})`).keyOf(variables, noTask)
      })
      expect(new Set(keys.map(({ key }) => key)).size).toBe(1)
      expect(new Set(keys.map(({ keyHash }) => keyHash)).size).toBe(keys.length)
    }),
  )
})

test("the readable key is what Python's format_map gives, with unknown for what is missing", () => {
  const variables = fc.record({ a: ordinary, b: ordinary, launcher_type: ordinary, task_id: ordinary }, { requiredKeys: [] })
  fc.assert(
    fc.property(templates, variables, (pieces, sent) => {
      const known: Readonly<Record<string, string | number | undefined>> = { ...sent, global: 'global' }
      const expected = pieces.map((each) => ('name' in each ? String(known[each.name] ?? 'unknown') : each.text)).join('')
      fc.pre(expected.trim() !== '')
      expect(readScope(templateOf(pieces)).keyOf(sent, noTask).key).toBe(expected)
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['{launcher_type}_{launcher_id}', 'group_123456'],
  ['{{{launcher_type}}}', '{group}'],
  ['{{}}', '{}'],
  ['}}{{', '}{'],
  ['{{{{launcher_type}}}}', '{{launcher_type}}'],
  ['{launcher_type}}}', 'group}'],
  ['{nobody}-{launcher_type}', 'unknown-group'],
])('Python 3 makes of %s the text %s, and so does a scope', (template, key) => {
  expect(readScope(template).keyOf({ launcher_type: 'group', launcher_id: '123456' }, noTask).key).toBe(key)
})

test('any text with any variables gives a key or invalid_request, never another error', () => {
  const policy = scopePolicy({ newTaskId: () => 'new' })
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    templates.map(templateOf),
    fc.constantFrom('app', 'chat', '__proto__'),
  )
  const variables = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom(...NAMES)), fc.oneof(fc.string({ unit: 'binary' }), fc.double()))
  fc.assert(
    fc.property(text, variables, (scope, sent) => {
      const request: ScopeRequest = { scope, variables: sent }
      try {
        expect(policy.resolve(request).keyHash).toMatch(/^[0-9a-f]{64}$/)
      } catch (error) {
        if (!isHoldfastError(error, 'invalid_request')) throw error
      }
    }),
    { numRuns: 500 },
  )
})
