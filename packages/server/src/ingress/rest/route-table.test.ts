/** The rules of the route table: a server with a row that breaks one does not start. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { OneId } from './paths.ts'
import { NO_BYTES } from './request-body.ts'
import { json, publicRoute, route } from './route.ts'
import type { Route } from './route.ts'
import { checkRoutes } from './route-table.ts'

const answers = { 200: json('Thing', z.object({}), 'A thing') }
const good: Route = route({
  ...{ method: 'GET', path: '/v1/sessions/{id}', summary: 's', authorization: 'read', params: OneId, answers, errors: [] },
  handle: async () => ({ status: 200, body: {} }),
})

test('a good row passes', () => {
  expect(() => checkRoutes([good])).not.toThrow()
})

test('a row without authorization, or with one that nobody knows, is named', () => {
  const { authorization: _left, ...lacking } = good
  expect(() => checkRoutes([lacking as Route])).toThrow('the route GET /v1/sessions/{id} does not say who may use it')
  expect(() => checkRoutes([{ ...good, authorization: 'anybody' as 'public' }])).toThrow('does not say who may use it')
})

test('two rows of one method and path are refused', () => {
  expect(() => checkRoutes([good, good])).toThrow('the route GET /v1/sessions/{id} is there twice')
})

test('a path and its parameters agree', () => {
  expect(() => checkRoutes([{ ...good, path: '/v1/sessions/{id}/{other}' }])).toThrow(
    'has the parameters (id other) in its path and (id) in its schema',
  )
})

test('a right that is decided for a session needs a session', () => {
  expect(() => checkRoutes([{ ...good, path: '/v1/things/{id}' }])).toThrow('needs read, which is decided for a session, and names none')
})

test('a row for those with a key cannot be reached without one, whatever the door does', () => {
  const raw = { params: { id: 'x' }, query: new URLSearchParams(), text: '', bytes: NO_BYTES, ifMatch: undefined }
  const visit = { requestId: 'r', signal: new AbortController().signal, header: () => undefined, recheck: async () => {} }
  const problemOf = () => {
    throw new Error('not here')
  }
  expect(() => good.prepare(raw, { ...visit, problemOf }, null)).toThrow(TypeError)
  const open = publicRoute({
    method: 'GET',
    path: '/x',
    summary: 's',
    answers,
    errors: [],
    handle: async () => ({ status: 200, body: {} }),
  })
  expect(() => open.prepare({ ...raw, params: {} }, { ...visit, problemOf }, null)).not.toThrow()
})
