/**
 * The part of JSON Schema that the served document uses, and looking things up in it.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly Json[]
  readonly const?: Json
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly propertyNames?: JsonSchema
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly default?: Json
}

/** What `#/components/…` means in a document. */
export function lookUp(document: object, reference: string): unknown {
  const steps = reference.replace(/^#\//, '').split('/')
  return steps.reduce<unknown>((found, step) => (isObject(found) ? found[step] : undefined), document)
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
