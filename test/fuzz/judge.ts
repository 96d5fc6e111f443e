/**
 * Whether an answer is one that the document promises, and what nothing may ever answer.
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import type { Answer } from './answer.ts'
import type { ApiDocument } from './api-document.ts'
import type { Attempt } from './attempt.ts'
import { isObject } from './json-schema.ts'

/** Failures of the server that are answers: it is busy, or its disk is full. */
const EXCUSED = new Set([503, 507])
/** Traces of a stack, and of where the software lies. */
const INSIDE_WORDS = /\n\s+at |node:internal|node_modules\/|file:\/\/|\bTypeError\b|\bReferenceError\b|\bSqliteError\b|SQLITE_/
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** What is wrong with the answer, in words; nothing for a good one. */
export type Judge = (attempt: Attempt, answer: Answer) => readonly string[]

/** `secretPaths`: directories of the host that no answer may name. */
export function createJudge({ whole }: ApiDocument, secretPaths: readonly string[]): Judge {
  const ajv = new Ajv2020({ strict: false, allErrors: false, formats: { 'date-time': DATE_TIME, binary: true } })
  ajv.addSchema({ $id: 'document', ...whole })
  const validators = new Map<object, ValidateFunction>()
  const validatorOf = (schema: object) => {
    const known = validators.get(schema)
    if (known !== undefined) return known
    const made = ajv.compile(referringTo(schema))
    validators.set(schema, made)
    return made
  }
  const problemValidator = ajv.compile({ $ref: 'document#/components/schemas/Problem' })

  function* faults(attempt: Attempt, answer: Answer): Generator<string> {
    const { operation, method } = attempt
    const { status, headers, bytes } = answer
    const type = headers['content-type']?.replace(/;.*/, '')
    if (status >= 500 && !EXCUSED.has(status)) yield `is a failure of the server: ${status}`
    if (!/^req_\w{16}$/.test(headers['x-request-id'] ?? '')) yield 'has no x-request-id'
    if (status >= 400) yield* problemFaults(answer, attempt, problemValidator)
    if (!attempt.isAstray && attempt.wire === null) {
      const declared = operation.answers[status]
      if (declared === undefined) yield `has the status ${status}, which ${operation.name} does not declare`
      else if (declared.content === undefined) {
        if (bytes.length > 0) yield `has a body, and ${operation.name} declares none for ${status}`
      } else {
        const content = declared.content[type ?? '']
        if (content === undefined) yield `has the type ${type}, which ${operation.name} does not declare for ${status}`
        else if (type === 'application/json') yield* schemaFaults(validatorOf(content.schema), bytes)
        else if (type === 'text/event-stream') yield* eventFaults(answer, problemValidator)
      }
      yield* rightFaults(attempt, status)
    }
    if (method === 'HEAD' && bytes.length > 0) yield 'has a body, although only the headers were asked for'
    if (type?.endsWith('json') === true) yield* leaks(bytes.toString(), secretPaths)
  }

  return (attempt, answer) => [...faults(attempt, answer)]
}

function* problemFaults(
  { status, headers, bytes }: Answer,
  { method, operation, isAstray, wire }: Attempt,
  isProblem: ValidateFunction,
): Generator<string> {
  if (method === 'HEAD' && wire === null) return
  if (headers['content-type'] !== 'application/problem+json')
    return yield `is a refusal without a problem document: ${headers['content-type']}`
  const problem = jsonOf(bytes)
  if (!isProblem(problem)) return yield `is no problem document: ${words(isProblem)}`
  if (!isObject(problem)) return
  if (problem['status'] !== status) yield `says ${String(problem['status'])} in its document and is ${status}`
  // What is told again is told with the id of the first time.
  if (problem['request_id'] !== headers['x-request-id'] && headers['idempotency-replayed'] === undefined) yield 'has two request ids'
  const declared = operation.answers[status]?.description ?? ''
  if (!isAstray && wire === null && !declared.includes(`\`${String(problem['code'])}\``))
    yield `has the code ${String(problem['code'])}, which ${operation.name} does not declare for ${status}`
}

function* schemaFaults(isGood: ValidateFunction, bytes: Buffer): Generator<string> {
  const body = jsonOf(bytes)
  if (body === undefined) yield 'is no JSON'
  else if (!isGood(body)) yield `breaks its schema: ${words(isGood)}`
}

/** Each event is whole, and a failure among them is a problem document. The last one may be cut. */
function* eventFaults({ bytes, isCut }: Answer, isProblem: ValidateFunction): Generator<string> {
  const events = bytes.toString().split('\n\n')
  const rest = events.pop()
  if (!isCut && rest !== '') yield `ends within an event: ${rest}`
  for (const event of events.filter((each) => !each.startsWith(':'))) {
    const [, name, data] = /(?:^id: .*\n)?^event: (.+)\ndata: (.*)$/m.exec(event) ?? []
    const value = data === undefined ? undefined : jsonOf(Buffer.from(data))
    if (name === undefined || value === undefined) yield `has an event that cannot be read: ${event}`
    if (name !== 'error') continue
    if (!isProblem(value)) yield `tells of a failure without a problem document: ${event}`
    else if (isObject(value) && Number(value['status']) >= 500 && !EXCUSED.has(Number(value['status'])))
      yield `tells of a failure of the server: ${event}`
  }
}

/** Whom nothing may be shown: those without a key, and those of another tenant. */
function* rightFaults({ operation, principal, target, headers }: Attempt, status: number): Generator<string> {
  if (status >= 400 || operation.isPublic) return
  const bringsKey = headers.some(([name]) => name === 'authorization' || name === 'x-api-key')
  if ((principal === 'nobody' || principal === 'guesser') && !bringsKey) yield `was given to ${principal}`
  if (principal === 'stranger' && /@@(session|idle_session|ended_session|execution|terminal)@@/.test(target))
    yield 'was given to somebody of another tenant'
  if (principal === 'member' && target.includes('@@foreign_session@@')) yield 'shows a member what belongs to another tenant'
}

function* leaks(text: string, secretPaths: readonly string[]): Generator<string> {
  const path = secretPaths.find((each) => text.includes(each))
  if (path !== undefined) yield `names a directory of the host: ${path}`
  const inside = INSIDE_WORDS.exec(text)
  if (inside !== null) yield `shows the inside of the software: ${JSON.stringify(inside[0])}`
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

function words({ errors }: ValidateFunction): string {
  const [first] = errors ?? []
  return first === undefined ? 'for no reason' : `${first.instancePath || 'it'} ${first.message ?? ''} ${JSON.stringify(first.params)}`
}

/** References of a schema lead into the whole document. */
function referringTo(schema: object): object {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')
  const value: unknown = JSON.parse(text)
  return isObject(value) ? value : {}
}
