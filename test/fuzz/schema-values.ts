/**
 * A generator of what a JSON Schema allows.
 *
 * Bounds are kept as written. What a schema cannot say (one of two fields, a name that exists) is left to `likely-values.ts`.
 */
import fc from 'fast-check'
import { likelyValue, NOT_WITH, ONE_OF } from './likely-values.ts'
import { isObject, lookUp } from './json-schema.ts'
import type { Json, JsonSchema } from './json-schema.ts'

const MAXIMUM_DEPTH = 6
/** Longer texts are tried where they are refused. */
const LONG_TEXT = 300
const LONG_LIST = 6
const SEVERAL = 4

export type SchemaValues = (schema: JsonSchema, field?: string) => fc.Arbitrary<Json>

/** `document`: where references lead. */
export function schemaValues(document: object): SchemaValues {
  function valueOf(schema: JsonSchema, depth: number): fc.Arbitrary<Json> {
    if (schema.$ref !== undefined) return deeper(schema.$ref, depth)
    if (schema.const !== undefined) return fc.constant(schema.const)
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
    const choices = schema.anyOf ?? schema.oneOf
    if (choices !== undefined) return fc.oneof(...choices.map((choice) => valueOf(choice, depth)))
    const types = [schema.type ?? 'any'].flat()
    return fc.oneof(...types.map((type) => valueOfType(type, schema, depth)))
  }

  function deeper(reference: string, depth: number): fc.Arbitrary<Json> {
    if (depth > MAXIMUM_DEPTH) return fc.constant(null)
    const found = lookUp(document, reference)
    return valueOf(isObject(found) ? found : {}, depth + 1)
  }

  function valueOfType(type: string, schema: JsonSchema, depth: number): fc.Arbitrary<Json> {
    switch (type) {
      case 'null':
        return fc.constant(null)
      case 'boolean':
        return fc.boolean()
      case 'integer':
        return fc.integer({ min: lowest(schema, -1000), max: highest(schema, 1_000_000) })
      case 'number':
        return fc.double({ min: lowest(schema, -1000), max: highest(schema, 1_000_000), noNaN: true, noDefaultInfinity: true })
      case 'string':
        return textOf(schema)
      case 'array':
        return listOf(schema, depth)
      case 'object':
        return objectOf(schema, depth)
      default:
        return fc.jsonValue({ maxDepth: 2 }).map(asJson)
    }
  }

  function listOf({ items = {}, minItems = 0, maxItems = LONG_LIST }: JsonSchema, depth: number): fc.Arbitrary<Json> {
    const bounds = { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, LONG_LIST)) }
    return depth > MAXIMUM_DEPTH ? fc.constant([]) : fc.array(valueOf(items, depth + 1), bounds)
  }

  function objectOf(schema: JsonSchema, depth: number): fc.Arbitrary<Json> {
    const { properties = {}, required = [], additionalProperties, propertyNames } = schema
    const names = Object.keys(properties)
    if (typeof additionalProperties === 'object' && names.length === 0) {
      const name = propertyNames === undefined ? fc.string({ minLength: 1, maxLength: 20 }) : valueOf(propertyNames, depth + 1).map(String)
      return fc.dictionary(name, valueOf(additionalProperties, depth + 1), { maxKeys: 3, noNullPrototype: true }).map(asJson)
    }
    const entry = (name: string, value: fc.Arbitrary<Json>) => value.map((given): Entry => [name, given])
    const groups = ONE_OF.filter((group) => group.every((name) => names.includes(name)))
    const chosen = groups.map((group) => fc.oneof(...group.map((name) => entry(name, fieldOf(name, properties[name] ?? {}, depth)))))
    const rest = names.map((name) => {
      const field = entry(name, fieldOf(name, properties[name] ?? {}, depth))
      return required.includes(name) ? field : sometimes(field, names.length)
    })
    const apart = (entries: readonly Entry[]) => entries.filter(([name]) => !groups.some((group) => group.includes(name)))
    const whole = fc.tuple(...rest).map((given) => given.filter((each) => each !== null))
    const oneOfEach = fc.tuple(whole, ...chosen).map(([given, ...choices]) => {
      const unfit = choices.flatMap(([name]) => NOT_WITH[name] ?? [])
      return [...apart(given), ...choices].filter(([name]) => !unfit.includes(name))
    })
    return fc.oneof({ weight: 6, arbitrary: oneOfEach }, { weight: 1, arbitrary: whole }).map((entries) => Object.fromEntries(entries))
  }

  function fieldOf(name: string, schema: JsonSchema, depth: number): fc.Arbitrary<Json> {
    // Names repeat; where the document lists the words, they are those.
    return schema.enum === undefined ? likelyValue(name, () => valueOf(schema, depth + 1)) : valueOf(schema, depth + 1)
  }

  return (schema, field) => (field === undefined ? valueOf(schema, 0) : fieldOf(field, schema, 0))
}

type Entry = readonly [string, Json]

/** Of many fields few at a time, or nothing would ever be accepted. */
function sometimes(field: fc.Arbitrary<Entry>, fields: number): fc.Arbitrary<Entry | null> {
  return fc.oneof({ weight: fields > SEVERAL ? 5 : 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: field })
}

/** Making one from a pattern takes long, and the same patterns come again and again. */
const byPattern = new Map<string, fc.Arbitrary<string>>()

function textOf({ pattern, format, minLength = 0, maxLength = LONG_TEXT }: JsonSchema): fc.Arbitrary<Json> {
  if (pattern !== undefined) return patterned(pattern).filter(({ length }) => length >= minLength && length <= maxLength)
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString())
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(maxLength, LONG_TEXT)) })
}

function patterned(pattern: string): fc.Arbitrary<string> {
  const known = byPattern.get(pattern)
  if (known !== undefined) return known
  // A class of nearly all Unicode takes seconds to build; a part of it will do.
  const made = fc.stringMatching(new RegExp(pattern.replaceAll('\\P{Cc}', '[ -~¡-ɏ]'), 'u'), { size: 'small' })
  byPattern.set(pattern, made)
  return made
}

function lowest({ minimum, exclusiveMinimum }: JsonSchema, usual: number): number {
  return minimum ?? (exclusiveMinimum === undefined ? usual : exclusiveMinimum + Number.EPSILON)
}

function highest({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonSchema, usual: number): number {
  return maximum ?? exclusiveMaximum ?? Math.max(usual, minimum ?? exclusiveMinimum ?? usual)
}

/** What fast-check calls JSON is what we call JSON. */
function asJson(value: unknown): Json {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its generators of JSON make nothing else
  return value as Json
}
