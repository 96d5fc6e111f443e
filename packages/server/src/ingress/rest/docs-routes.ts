/**
 * `/openapi.json` and `/docs`: the route table, for programs and for people.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Each is made once, when it is asked for first: the table does not change while the server runs.
 */
import { z } from 'zod'
import { openApiDocument } from './openapi.ts'
import { referencePage } from './reference-page.ts'
import { CONTENT_POLICY } from './reference-style.ts'
import { bytes, json, publicRoute } from './route.ts'
import type { Route } from './route.ts'

/** Both speak of themselves too. `release` is that of this software. */
export function docsRoutes(others: readonly Route[], release: string): readonly Route[] {
  const document = once(() => openApiDocument([...others, ...own], release))
  const text = once(() => JSON.stringify(document()))
  const page = once(() => referencePage(document()))
  const own: readonly Route[] = [
    publicRoute({
      method: 'GET',
      path: '/openapi.json',
      summary: 'Read the OpenAPI document',
      answers: { 200: json('OpenApi', z.record(z.string(), z.unknown()), 'OpenAPI 3.1') },
      errors: [],
      handle: async ({ requestId }) => textResponse(text(), requestId, { 'content-type': 'application/json', 'cache-control': 'no-store' }),
    }),
    publicRoute({
      method: 'GET',
      path: '/docs',
      summary: 'Read this reference',
      answers: { 200: bytes('text/html', 'One page that needs nothing else') },
      errors: [],
      handle: async ({ requestId }) => textResponse(page(), requestId, PAGE_HEADERS),
    }),
  ]
  return own
}

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': CONTENT_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}

function textResponse(text: string, requestId: string, headers: Readonly<Record<string, string>>): Response {
  return new Response(text, { headers: { ...headers, 'x-request-id': requestId } })
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => (made ??= { value: make() }).value
}
