/**
 * The OpenAPI 3.1 document of a route table. Its schemas are JSON Schema 2020-12, which Zod writes by itself.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { ERRORS, ProblemDocument } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import { z } from 'zod'
import { ByteContent } from './byte-content.ts'
import type { Method, Payload, Route } from './route.ts'
import { paramsIn } from './route-table.ts'

type Json = Readonly<Record<string, unknown>>

/** What every route can answer, and what every one behind a key can. */
const EVERYWHERE: readonly ErrorCode[] = [
  'invalid_request',
  'host_refused',
  'origin_refused',
  'headers_too_large',
  'store_unavailable',
  'internal',
]
const WITH_KEY: readonly ErrorCode[] = ['unauthorized', 'forbidden', 'not_found', 'rate_limited', 'identity_provider_unavailable']
const WITH_BODY: readonly ErrorCode[] = ['payload_too_large', 'request_stalled', 'capacity_exhausted', 'server_busy']
/** An answer that stays open counts as a stream. */
const WITH_STREAM: readonly ErrorCode[] = ['capacity_exhausted', 'server_busy']
const WITH_BYTES: readonly ErrorCode[] = ['request_cancelled', 'request_stalled']
const WITH_IDEMPOTENCY_KEY: readonly ErrorCode[] = [
  ...(['request_in_progress', 'outcome_unknown', 'idempotency_key_reused', 'answer_not_kept', 'quota_exceeded'] as const),
]

const INPUT = { io: 'input', unrepresentable: 'any' } as const

/** Headers that many routes take, each written once. */
const HEADERS = {
  OnBehalfOf: header('X-Holdfast-On-Behalf-Of', 'The user whom a service key speaks for.'),
  Groups: header('X-Holdfast-Groups', 'The groups of that user, with commas.'),
  Tenant: header('X-Holdfast-Tenant', 'The tenant that a platform administrator means.'),
  IdempotencyKey: header('Idempotency-Key', 'The same key and request within a day get the same answer, and are done once.'),
  LastEventId: header('Last-Event-ID', 'Where a stream goes on: the id of the last event that was read.'),
}

export function openApiDocument(routes: readonly Route[], version: string): Json {
  const schemas = componentSchemas(routes)
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    const methods = (paths[route.path] ??= {})
    methods[route.method.toLowerCase()] = operation(route)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version,
      description: 'Sandboxes that belong to conversations. Errors are RFC 9457 problem documents; `GET /v1/errors` lists their codes.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
      parameters: HEADERS,
      schemas,
    },
  }
}

function operation(route: Route): Json {
  const { method, path, summary, authorization } = route
  return {
    operationId: operationId(method, path),
    summary,
    tags: [path.split('/').find((part) => part !== '' && part !== 'v1') ?? 'server'],
    ...(authorization === 'public' ? { security: [] } : { 'x-authorization': authorization }),
    parameters: parametersOf(route),
    ...requestBodyOf(route),
    responses: { ...answersOf(route), ...problemsOf(route) },
  }
}

function requestBodyOf(route: Route): Json {
  const { method, body } = route
  if (!hasBody(method) || isEmptyObject(body)) return {}
  if (body instanceof ByteContent) return { requestBody: { required: true, content: byteContent(body) } }
  return { requestBody: { required: !body.safeParse({}).success, content: jsonContent(bodyName(route)) } }
}

/** `POST /v1/sessions/{id}/cancel-work` → `postSessionsIdCancelWork`. */
function operationId(method: string, path: string): string {
  const words = path
    .replace(/^\/v1/, '')
    .split(/[^a-z]+/i)
    .filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

function parametersOf({ method, path, query, params, headers = {}, authorization, ifMatch, answers }: Route): readonly Json[] {
  const { properties: inPath = {} } = z.toJSONSchema(params, INPUT)
  const { properties: inQuery = {}, required = [] } = z.toJSONSchema(query, INPUT)
  return [
    ...paramsIn(path).map((name) => ({ name, in: 'path', required: true, schema: tidy(inPath[name] ?? {}) })),
    ...Object.entries(inQuery).map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema: tidy(schema) })),
    ...Object.entries(headers).map(([name, description]) => header(name, description)),
    ...(method === 'POST' ? [headerOf('IdempotencyKey')] : []),
    ...(ifMatch === undefined
      ? []
      : [{ ...header('If-Match', 'The version that the change was decided on, in quotes.'), required: ifMatch === 'required' }]),
    ...(method === 'GET' && Object.values(answers).some(({ events, schema }) => events !== null && schema !== null)
      ? [headerOf('LastEventId')]
      : []),
    ...(authorization === 'public' ? [] : [headerOf('OnBehalfOf'), headerOf('Groups'), headerOf('Tenant')]),
  ]
}

function answersOf({ answers, ifMatch }: Route): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, name, schema, events }]) => [
      status,
      {
        description,
        ...(ifMatch === undefined && name !== 'Session'
          ? {}
          : { headers: { ETag: { description: 'Its version.', schema: { type: 'string' } } } }),
        ...(schema === null && events === null
          ? {}
          : {
              content: {
                ...(name === null ? {} : jsonContent(name)),
                ...(schema instanceof ByteContent ? byteContent(schema) : {}),
                ...(events === null ? {} : { 'text/event-stream': { schema: { type: 'string', description: `Events: ${events}.` } } }),
              },
            }),
      },
    ]),
  )
}

/** Every code that a request to this route can be refused with. */
export function errorsOf({ method, body, answers, errors, authorization, ifMatch }: Route): ReadonlySet<ErrorCode> {
  return new Set<ErrorCode>([
    ...EVERYWHERE,
    ...(authorization === 'public' ? [] : WITH_KEY),
    // What DELETE brings is looked at too, and refused.
    ...(method === 'GET' ? [] : body instanceof ByteContent ? WITH_BYTES : WITH_BODY),
    ...(Object.values(answers).some(staysOpen) ? WITH_STREAM : []),
    ...(method === 'POST' ? WITH_IDEMPOTENCY_KEY : []),
    ...(ifMatch === 'required' ? (['precondition_required'] as const) : []),
    ...errors,
  ])
}

function staysOpen({ events, schema }: Payload): boolean {
  return events !== null || schema instanceof ByteContent
}

/** One answer per status, naming the codes that have it. */
function problemsOf(route: Route): Record<string, Json> {
  const byStatus = Map.groupBy(errorsOf(route), (code) => ERRORS[code].status)
  return Object.fromEntries(
    [...byStatus]
      .toSorted(([one], [other]) => one - other)
      .map(([status, ofStatus]) => [
        `${status}`,
        {
          description: ofStatus.map((code) => `\`${code}\``).join(', '),
          content: { 'application/problem+json': { schema: { $ref: reference('Problem') } } },
        },
      ]),
  )
}

/** Named schemas once each; what is sent and what is answered are written apart, because defaults make them differ. */
function componentSchemas(routes: readonly Route[]): Json {
  const sent = z.registry<{ id: string }>()
  const answered = z.registry<{ id: string }>()
  answered.add(ProblemDocument, { id: 'Problem' })
  for (const route of routes) {
    const { body } = route
    if (!(body instanceof ByteContent) && !isEmptyObject(body) && !sent.has(body)) sent.add(body, { id: bodyName(route) })
    for (const { name, schema } of Object.values<Payload>(route.answers))
      if (name !== null && schema instanceof z.ZodType && !answered.has(schema)) answered.add(schema, { id: name })
  }
  const written = [
    z.toJSONSchema(sent, { io: 'input', uri: reference, unrepresentable: 'any' }),
    z.toJSONSchema(answered, { io: 'output', uri: reference, unrepresentable: 'any' }),
  ].flatMap(({ schemas }) => Object.entries(schemas))
  const shared = written
    .filter(([name]) => name === '__shared')
    .flatMap(([, { $defs = {} }]) => Object.entries($defs).map(([name, schema]) => [name.replace('schema', 'Json'), schema] as const))
  const named = written.filter(([name]) => name !== '__shared')
  return Object.fromEntries(
    [...named, ...shared].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, schema]) => [name, tidy(schema)]),
  )
}

/** Without what a component does not need; recursive schemas, which Zod puts aside, are components like the others. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      // A field that is called `id` is a schema, the id of a schema is text.
      .filter(([name, field]) => name !== '$schema' && name !== '$id' && (name !== 'id' || typeof field !== 'string'))
      .map(([name, field]) => {
        if (name === '$ref') return [name, String(field).replace('__shared#/$defs/schema', 'Json')]
        return [name, name === 'pattern' && typeof field === 'string' ? portable(field) : tidy(field)]
      }),
  )
}

/** Classes of Unicode and octal escapes are not understood everywhere; these mean the same. */
function portable(pattern: string): string {
  return pattern.replaceAll('\\P{Cc}', '[^\\u0000-\\u001f\\u007f-\\u009f]').replaceAll('\\0', '\\u0000')
}

/** The body of `POST /v1/sessions/{id}/release` is `PostSessionsIdReleaseBody`. */
function bodyName({ method, path }: Route): string {
  const id = operationId(method, path)
  return `${id.charAt(0).toUpperCase()}${id.slice(1)}Body`
}

function hasBody(method: Method): boolean {
  return method !== 'GET' && method !== 'DELETE'
}

function isEmptyObject(schema: Route['body']): boolean {
  return schema instanceof z.ZodObject && Object.keys(schema.shape).length === 0
}

function jsonContent(name: string): Json {
  return { 'application/json': { schema: { $ref: reference(name) } } }
}

function byteContent({ mediaTypes }: ByteContent): Json {
  return Object.fromEntries(mediaTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]))
}

function reference(name: string): string {
  return `#/components/schemas/${name}`
}

function headerOf(name: keyof typeof HEADERS): Json {
  return { $ref: `#/components/parameters/${name}` }
}

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } }
}
