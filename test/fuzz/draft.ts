/**
 * A request in its parts, as they are before one of them is spoiled; and putting the parts together.
 */
import fc from 'fast-check'
import { writeZip } from '../../packages/server/src/skills/contract/zip-writer.ts'
import type { Operation, Parameter } from './api-document.ts'
import type { Attempt, Header, Manner, PrincipalName } from './attempt.ts'
import type { Json } from './json-schema.ts'
import type { SchemaValues } from './schema-values.ts'

export interface Draft {
  readonly operation: Operation
  readonly principal: PrincipalName
  readonly method: string
  readonly params: Readonly<Record<string, string>>
  readonly query: readonly (readonly [name: string, value: string])[]
  readonly headers: readonly Header[]
  /** `undefined`: none. Bytes are sent as they are, anything else as JSON. */
  readonly body: Json | Uint8Array | undefined
}

/** Ids by the word before them in a path; what exists comes most often. */
const IDS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  sessions: [
    ...(['@@session@@', '@@session@@', '@@session@@', '@@session@@', '@@idle_session@@', '@@idle_session@@'] as const),
    ...['@@foreign_session@@', '@@ended_session@@', 'ses_0000000000000000'],
  ],
  executions: ['@@execution@@', '@@execution@@', '@@terminal@@', '@@terminal@@', '@@ended_execution@@', 'exe_0000000000000000'],
  processes: ['sample', 'sample', 'another', 'none'],
  skills: ['sample', 'sample', 'sample', 'another'],
  sandboxes: ['@@sandbox@@', '@@sandbox@@', 'sbx_0000000000000000'],
  tenants: ['@@tenant@@', '@@tenant@@', 'tnt_0000000000000000'],
  keys: ['@@key@@', '@@key@@', 'key_0000000000000000'],
  webhooks: ['@@webhook@@', '@@webhook@@', 'whk_0000000000000000'],
}

const HEADERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  'idempotency-key': ['@@fresh@@', '@@fresh@@', 'always-the-same'],
  'if-match': ['"@@version@@"', '"@@version@@"', '"1"', '*'],
  'last-event-id': ['0', '1', '@@event@@'],
  range: ['bytes=0-0', 'bytes=1-', 'bytes=-1', 'bytes=0-99999999'],
  'if-none-match': ['*', 'W/"1-1"'],
  'x-holdfast-on-behalf-of': ['member', 'somebody'],
  'x-holdfast-groups': ['a', 'a, b'],
  'x-holdfast-tenant': ['@@tenant@@', 'tnt_default', 'none'],
}
/** Who may send these; for all others they only lead to a refusal. */
const SPEAKERS: Readonly<Record<string, PrincipalName>> = {
  'x-holdfast-on-behalf-of': 'service',
  'x-holdfast-groups': 'service',
  'x-holdfast-tenant': 'admin',
}

/** Requests to the operation that its document allows. */
export function draftsOf(operation: Operation, valueOf: SchemaValues): fc.Arbitrary<Draft> {
  const { parameters } = operation
  const inPath = parameters.filter((each) => each.in === 'path').map((each) => pathValue(operation, each, valueOf))
  const inQuery = parameters.filter((each) => each.in === 'query').map((each) => queryValue(each, valueOf))
  const inHeaders = parameters.filter((each) => each.in === 'header').map(headerValue)
  return fc
    .record({
      principal: principalFor(operation),
      params: fc.tuple(...inPath),
      query: fc.tuple(...inQuery),
      headers: fc.tuple(...inHeaders),
      accept: acceptOf(operation),
      content: contentOf(operation, valueOf),
    })
    .map(({ principal, params, query, headers, accept, content }) => {
      const given = headers.filter((header) => header !== null).filter(([name]) => (SPEAKERS[name] ?? principal) === principal)
      return {
        ...{ operation, principal, method: operation.method },
        params: Object.fromEntries(params),
        query: query.flat(),
        headers: [...given, ...accept, ...content.headers],
        body: content.body,
      }
    })
}

export function attemptOf(draft: Draft, manner: Manner): Attempt {
  const { operation, principal, method, params, query, headers, body } = draft
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encoded(params[name] ?? ''))
  const search = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&')
  return {
    ...{ operation, manner, principal, method, headers },
    target: search === '' ? path : `${path}?${search}`,
    body: bodyBytes(body),
    isAstray: false,
    replay: null,
    wire: null,
  }
}

export function bodyBytes(body: Draft['body']): Uint8Array | null {
  if (body === undefined) return null
  return body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))
}

/** References stay readable; half a surrogate pair has no encoding, and is sent as what stands for it. */
export function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%40%40', '@@')
}

/** What a member may not do. */
const ADMINISTRATION = /^(manage-.*|read-(?!output).*|hold|transfer)$/

/** Mostly somebody who may. */
function principalFor({ authorization, path }: Operation): fc.Arbitrary<PrincipalName> {
  const usual = ADMINISTRATION.test(authorization) || path.startsWith('/v1/tenants') ? 'admin' : 'member'
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant<PrincipalName>(usual) },
    { weight: 3, arbitrary: fc.constantFrom<PrincipalName>('admin', 'tenant_admin', 'operator', 'service') },
    { weight: 3, arbitrary: fc.constantFrom<PrincipalName>('viewer', 'stranger', 'nobody', 'guesser') },
  )
}

function pathValue({ path }: Operation, { name, schema }: Parameter, valueOf: SchemaValues): fc.Arbitrary<readonly [string, string]> {
  const collection = path.split('/').at(path.split('/').indexOf(`{${name}}`) - 1) ?? ''
  const known = IDS[collection]
  const other = valueOf(schema).map(String)
  const value =
    known === undefined ? other : fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: other })
  return value.map((text) => [name, text])
}

type QueryEntries = readonly (readonly [string, string])[]

/** A list is given as often as it has items. */
function queryValue({ name, schema, required = false }: Parameter, valueOf: SchemaValues): fc.Arbitrary<QueryEntries> {
  const given = valueOf(schema, name).map((value): QueryEntries => [value].flat().map((item) => [name, textOf(item)]))
  return required ? given : fc.oneof({ weight: 4, arbitrary: fc.constant<QueryEntries>([]) }, { weight: 1, arbitrary: given })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function headerValue({ name, required = false }: Parameter): fc.Arbitrary<Header | null> {
  const lower = name.toLowerCase()
  const value = fc.constantFrom(...(HEADERS[lower] ?? (['a'] as const))).map((text): Header => [lower, text])
  const weight = { given: required ? 9 : 1, not: required ? 1 : 8 }
  return fc.oneof({ weight: weight.not, arbitrary: fc.constant(null) }, { weight: weight.given, arbitrary: value })
}

function acceptOf({ answers }: Operation): fc.Arbitrary<readonly Header[]> {
  const types = Object.values(answers).flatMap(({ content = {} }) => Object.keys(content))
  const events = fc.constant<readonly Header[]>([['accept', 'text/event-stream']])
  if (!types.includes('text/event-stream')) return fc.constantFrom<readonly Header[]>([], [['accept', 'application/json']])
  return types.includes('application/json')
    ? fc.oneof({ weight: 4, arbitrary: fc.constant<readonly Header[]>([]) }, { weight: 1, arbitrary: events })
    : fc.oneof({ weight: 1, arbitrary: fc.constant<readonly Header[]>([]) }, { weight: 4, arbitrary: events })
}

interface Content {
  readonly headers: readonly Header[]
  readonly body: Draft['body']
}

/** A tar archive of one small file, and nothing that is one. */
const BYTES = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }),
  fc.constant(new Uint8Array(70_000)),
  fc.constant(tarOf('unpacked.txt', 'from an archive')),
)

/** What else a type calls for. */
const OF_TYPE: Readonly<Record<string, Uint8Array>> = {
  'application/zip': writeZip([{ name: 'unpacked/SKILL.md', content: '---\nname: unpacked\n---\nfrom an archive' }]),
  'application/octet-stream': Buffer.from('text'),
}

function bytesOf(type: string): fc.Arbitrary<Uint8Array> {
  const fitting = OF_TYPE[type]
  return fitting === undefined ? BYTES : fc.oneof({ weight: 1, arbitrary: BYTES }, { weight: 2, arbitrary: fc.constant(fitting) })
}

function contentOf({ body }: Operation, valueOf: SchemaValues): fc.Arbitrary<Content> {
  if (body === null) return fc.constant({ headers: [], body: undefined })
  const types = Object.entries(body).map(([type, schema]) =>
    (type === 'application/json' ? valueOf(schema) : bytesOf(type)).map((content): Content => ({
      headers: [['content-type', type]],
      body: content,
    })),
  )
  return fc.oneof(...types)
}

/** One entry in the format of POSIX, and the two empty blocks of the end. */
function tarOf(name: string, content: string): Uint8Array {
  const header = Buffer.alloc(512)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  header.write(name, 0)
  header.write(`${octal(0o644, 7)}${octal(0, 7)}${octal(0, 7)}${octal(content.length, 11)}${octal(0, 11)}        0`, 100)
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, Buffer.from(content.padEnd(512, '\0')), Buffer.alloc(1024)])
}
