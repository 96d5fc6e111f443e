/**
 * The served OpenAPI document as a list of operations: what may be sent to each, and what it may answer.
 */
import { isObject, lookUp } from './json-schema.ts'
import type { JsonSchema } from './json-schema.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: JsonSchema
}

interface Declared {
  readonly description: string
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
}

export interface Operation {
  /** `POST /v1/exec` */
  readonly name: string
  readonly method: string
  /** With `{name}` for each parameter of it. */
  readonly path: string
  readonly isPublic: boolean
  /** What the caller must be allowed to do. */
  readonly authorization: string
  readonly parameters: readonly Parameter[]
  /** By media type; `null`: it has none. */
  readonly body: Readonly<Record<string, JsonSchema>> | null
  /** By status. */
  readonly answers: Readonly<Record<string, Declared>>
}

export interface ApiDocument {
  readonly operations: readonly Operation[]
  /** As served, for whoever follows references. */
  readonly whole: object
}

interface RawOperation {
  readonly security?: readonly object[]
  readonly 'x-authorization'?: string
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
  readonly responses: Readonly<Record<string, Declared>>
}

export async function fetchApiDocument(url: string): Promise<ApiDocument> {
  const response = await fetch(`${url}/openapi.json`)
  return readApiDocument(await response.json())
}

export function readApiDocument(whole: unknown): ApiDocument {
  if (!isObject(whole) || !isObject(whole['paths'])) throw new Error('the document has no paths')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its shape has a test of its own
  const paths = whole['paths'] as Readonly<Record<string, Readonly<Record<string, RawOperation>>>>
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => operationOf(whole, method.toUpperCase(), path, raw)),
  )
  return { operations, whole }
}

function operationOf(whole: object, method: string, path: string, raw: RawOperation): Operation {
  return {
    ...{ name: `${method} ${path}`, method, path },
    isPublic: raw.security?.length === 0,
    authorization: raw['x-authorization'] ?? 'public',
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a reference among parameters leads to a parameter
    parameters: (raw.parameters ?? []).map((each) => ('$ref' in each ? (lookUp(whole, each.$ref) as Parameter) : each)),
    body:
      raw.requestBody === undefined
        ? null
        : Object.fromEntries(Object.entries(raw.requestBody.content).map(([type, { schema }]) => [type, schema])),
    answers: raw.responses,
  }
}
