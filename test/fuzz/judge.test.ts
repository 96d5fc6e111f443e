/** The judge: what no answer may be is found in it. */
import { expect, test } from 'vitest'
import type { Answer } from './answer.ts'
import { readApiDocument } from './api-document.ts'
import type { Attempt } from './attempt.ts'
import { createJudge } from './judge.ts'

const PROBLEM = {
  type: 'object',
  properties: { code: { type: 'string' }, status: { type: 'integer' }, request_id: { type: 'string' } },
  required: ['code', 'status', 'request_id'],
}
const DOCUMENT = readApiDocument({
  paths: {
    '/v1/things/{id}': {
      get: {
        'x-authorization': 'read',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        responses: {
          200: {
            description: 'It',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } }, 'text/event-stream': { schema: {} } },
          },
          204: { description: 'Nothing' },
          404: {
            description: '`not_found`',
            content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
          },
          500: { description: '`internal`', content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } },
        },
      },
    },
  },
  components: {
    schemas: {
      Problem: PROBLEM,
      Thing: { type: 'object', properties: { at: { type: 'string', format: 'date-time' } }, required: ['at'], additionalProperties: false },
    },
  },
})
const REQUEST_ID = 'req_0123456789abcdef'
const [operation] = DOCUMENT.operations
if (operation === undefined) throw new Error('the document has an operation')
const GOOD: Attempt = {
  ...{ operation, manner: 'valid', principal: 'member', method: 'GET', target: '/v1/things/@@session@@', headers: [], body: null },
  ...{ isAstray: false, replay: null, wire: null },
}
const judge = createJudge(DOCUMENT, ['/the/home'])

function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const type = status >= 400 ? 'application/problem+json' : 'application/json'
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return { status, headers: { 'content-type': type, 'x-request-id': REQUEST_ID, ...headers }, bytes, isCut: false }
}
const problem = (status: number, code: string) => ({ code, status, request_id: REQUEST_ID })
const THING = { at: '2026-01-01T00:00:00.000Z' }

test('an answer that the document promises is good', () => {
  expect(judge(GOOD, answer(200, THING))).toEqual([])
  expect(judge(GOOD, answer(404, problem(404, 'not_found')))).toEqual([])
  expect(judge(GOOD, answer(200, 'event: a\ndata: {}\n\n', { 'content-type': 'text/event-stream' }))).toEqual([])
})

test.each<[string, Answer, Partial<Attempt>]>([
  ['is a failure of the server', answer(500, problem(500, 'internal')), {}],
  ['has the status 418', answer(418, problem(418, 'teapot')), {}],
  ['has no x-request-id', answer(200, THING, { 'x-request-id': '' }), {}],
  ['breaks its schema', answer(200, { at: 'yesterday' }), {}],
  ['breaks its schema', answer(200, { ...THING, more: 1 }), {}],
  ['breaks its schema', answer(200, {}), {}],
  ['is no JSON', answer(200, '{'), {}],
  ['has the type text/html', answer(200, THING, { 'content-type': 'text/html' }), {}],
  ['has a body, and', answer(204, 'a'), {}],
  ['has the code gone', answer(404, problem(404, 'gone')), {}],
  ['has two request ids', answer(404, { ...problem(404, 'not_found'), request_id: 'req_other' }), {}],
  ['says 400 in its document', answer(404, problem(400, 'not_found')), {}],
  ['is no problem document', answer(404, { code: 'not_found' }), {}],
  ['is a refusal without a problem document', answer(404, 'no', { 'content-type': 'text/plain' }), { isAstray: true }],
  ['names a directory of the host', answer(404, { ...problem(404, 'not_found'), title: 'ENOENT /the/home/x' }), {}],
  ['shows the inside', answer(404, { ...problem(404, 'not_found'), title: 'TypeError: x is not a function' }), {}],
  ['was given to nobody', answer(200, THING), { principal: 'nobody' }],
  ['was given to somebody of another tenant', answer(200, THING), { principal: 'stranger' }],
  ['has an event that cannot be read', answer(200, 'event: a\n\n', { 'content-type': 'text/event-stream' }), {}],
  ['ends within an event', answer(200, 'event: a\ndata: {}', { 'content-type': 'text/event-stream' }), {}],
  ['tells of a failure without', answer(200, 'event: error\ndata: {}\n\n', { 'content-type': 'text/event-stream' }), {}],
])('%s', (fault, given, change) => {
  expect(judge({ ...GOOD, ...change }, given).join('; ')).toContain(fault)
})
