/**
 * A JSON value with one thing wrong: a field of another type, beyond its bounds, missing, or unknown.
 */
import fc from 'fast-check'
import { isObject } from './json-schema.ts'
import type { Json } from './json-schema.ts'

/** What is wrong in most places, and awkward where it is not. */
export const AWKWARD: readonly Json[] = [
  ...[null, true, false, 0, -1, 1.5, -0, 2 ** 31, 2 ** 53, 2 ** 53 + 2, 1e308, -1e308, 5e-324],
  ...['', ' ', '0', '-1', 'a'.repeat(5_000), 'a\0b', '\ud800', '\udfff\ud800', '\u202e', '\ufeff', '\r\nX-Injected: 1', '../../etc/passwd'],
  ...[
    '{launcher_id',
    'launcher_id}',
    '{{',
    '}',
    '{}',
    '${HOME}',
    '{launcher_type}_{launcher_id',
    "' OR 1=1 --",
    '%00',
    '%',
    '\u0007',
    'é\u0301',
  ],
  ...[[], {}, [null], [[]], ['a', 1], { a: 1 }, { '': '' }, { 'a=b': 'c' }, { 'a\0': 'b' }],
]

export type Fault =
  | { readonly kind: 'replace'; readonly place: number; readonly by: Json }
  | { readonly kind: 'remove'; readonly place: number }
  | { readonly kind: 'add'; readonly place: number; readonly name: string; readonly value: Json }

const place = fc.nat(50)

export const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constant('replace' as const), place, by: fc.constantFrom(...AWKWARD) }),
  fc.record({ kind: fc.constant('remove' as const), place }),
  fc.record({
    kind: fc.constant('add' as const),
    place,
    name: fc.constantFrom('colour', '__proto__', 'constructor', 'toString', '', 'Command', 'session '),
    value: fc.constantFrom(...AWKWARD),
  }),
)

/** The same value with the fault in one of its places. */
export function spoil(value: Json, wrong: Fault): Json {
  const places = placesIn(value, [])
  const chosen = places[wrong.place % places.length] ?? []
  return changed(value, chosen, (old) => {
    if (wrong.kind === 'replace') return wrong.by
    if (wrong.kind === 'remove') return undefined
    return isObject(old) ? Object.fromEntries([...Object.entries(old), [wrong.name, wrong.value]]) : [old, wrong.value]
  })
}

type Step = string | number

function placesIn(value: Json, path: readonly Step[]): readonly (readonly Step[])[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((item: Json, index) => placesIn(item, [...path, index]))]
  if (isObject(value)) return [path, ...Object.entries(value).flatMap(([name, field]) => placesIn(field, [...path, name]))]
  return [path]
}

/** `undefined` removes what is there; of the whole value, it leaves `null`. */
function changed(value: Json, [step, ...rest]: readonly Step[], change: (old: Json) => Json | undefined): Json {
  if (step === undefined) return change(value) ?? null
  const within = (old: Json) => (rest.length === 0 ? change(old) : changed(old, rest, change))
  if (Array.isArray(value)) return value.flatMap((item: Json, index) => (index === step ? [within(item) ?? []].flat() : [item]))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => {
      const now = name === step ? within(field) : field
      return now === undefined ? [] : [[name, now]]
    }),
  )
}
