/**
 * Requests that nobody sends by accident: good ones, with one part that is not.
 */
import fc from 'fast-check'
import type { Attempt, Header } from './attempt.ts'
import { attemptOf, encoded } from './draft.ts'
import type { Draft } from './draft.ts'
import { BODIES, CONTENT_TYPES, GARBAGE, HEADER_NAMES, IDS, METHODS, QUERIES, RANGES, VERSIONS } from './hostile-parts.ts'

/** A good request, changed. */
export type Twist = (draft: Draft) => Attempt

const withHeader = (draft: Draft, ...added: readonly Header[]): Draft => ({
  ...draft,
  headers: [...draft.headers.filter(([name]) => !added.some(([other]) => other === name)), ...added],
})
const hostile = (draft: Draft): Attempt => attemptOf(draft, 'hostile')

/** A change to a request that is good otherwise. */
export const twist: fc.Arbitrary<Twist> = fc.oneof(
  fc.constantFrom(...BODIES).map(
    ([, body]): Twist =>
      (draft) =>
        hostile({ ...draft, body }),
  ),
  fc.constantFrom(...CONTENT_TYPES).map(
    (type): Twist =>
      (draft) =>
        hostile(withHeader(draft, ['content-type', type])),
  ),
  fc.tuple(fc.constantFrom(...HEADER_NAMES), GARBAGE).map(
    (header): Twist =>
      (draft) =>
        hostile(withHeader(draft, header)),
  ),
  fc.tuple(fc.constantFrom(...HEADER_NAMES), GARBAGE, GARBAGE).map(
    ([name, one, other]): Twist =>
      (draft) =>
        hostile(withHeader(draft, [name, one], [name, other])),
  ),
  fc.constantFrom(...RANGES).map(
    (range): Twist =>
      (draft) =>
        hostile(withHeader(draft, ['range', range])),
  ),
  fc.constantFrom(...VERSIONS).map(
    (version): Twist =>
      (draft) =>
        hostile(withHeader(draft, ['if-match', version])),
  ),
  fc.constantFrom(...METHODS).map(
    (method): Twist =>
      (draft) =>
        hostile({ ...draft, method }),
  ),
  fc.constantFrom(...QUERIES).map((query): Twist => (draft) => {
    const attempt = hostile(draft)
    return { ...attempt, target: `${attempt.target}${attempt.target.includes('?') ? '&' : '?'}${query}` }
  }),
  fc.tuple(fc.constantFrom(...IDS), fc.nat(3)).map(
    ([id, which]): Twist =>
      (draft) =>
        withId(draft, id, which),
  ),
  fc.constantFrom('/', '//', '/..', '/.', '/%2e%2e/', '/a', '%2f', '.json', '?', '#a', ';').map((tail): Twist => (draft) => {
    const attempt = hostile(draft)
    const [path = '', ...query] = attempt.target.split('?')
    return { ...attempt, target: [`${path}${tail}`, ...query].join('?'), isAstray: true }
  }),
  fc.integer({ min: 20, max: 200 }).map((count): Twist => (draft) => {
    const many = Array.from({ length: count }, (_, index): Header => [`x-many-${index}`, 'a'.repeat(50)])
    return hostile(withHeader(draft, ...many))
  }),
)

/** Where the path has no id, the trick stands behind it. */
function withId(draft: Draft, id: string, which: number): Attempt {
  const attempt = hostile(draft)
  const places = [...draft.operation.path.matchAll(/\{(\w+)\}/g)].map(([place]) => place)
  const chosen = places[which % Math.max(places.length, 1)]
  const query = attempt.target.includes('?') ? attempt.target.slice(attempt.target.indexOf('?')) : ''
  const path = chosen === undefined ? `${draft.operation.path}/${id}` : draft.operation.path.replace(chosen, id)
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encoded(draft.params[name] ?? ''))
  return { ...attempt, target: `${filled}${query}`, isAstray: true }
}
