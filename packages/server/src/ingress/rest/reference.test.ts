/** The reference page: every route of the table, in a page that needs nothing and lets nothing in. */
import { createHash } from 'node:crypto'
import { ERRORS } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { tableForDocument } from './contract/table-for-document.ts'
import { openApiDocument } from './openapi.ts'
import { curlOf, exampleBody } from './reference-curl.ts'
import { ReferenceDocument } from './reference-document.ts'
import { referencePage } from './reference-page.ts'
import { CONTENT_POLICY } from './reference-style.ts'

const routes = tableForDocument()
const document = openApiDocument(routes, '1.2.3')
const page = referencePage(document)
/** Without the ends of its lines, which mean nothing here. */
const flat = page.replaceAll(/\s*\n\s*/g, '')
const { paths, components } = ReferenceDocument.parse(document)

const EMPTY = ['meta']

/** Tags as a parser of XML would see them; throws where they do not close one another. */
function tagsOf(markup: string): readonly string[] {
  const open: string[] = []
  const seen: string[] = []
  for (const [whole, slash, name = ''] of markup.replace(/^<!doctype html>/, '').matchAll(/<(\/?)([a-z0-9]+)[^<>]*>/g)) {
    if (slash === '/') {
      if (open.pop() !== name) throw new Error(`${whole} closes nothing`)
      continue
    }
    seen.push(name)
    if (!EMPTY.includes(name)) open.push(name)
  }
  expect(open).toEqual([])
  return seen
}

test('shows every route with its method, path and summary, and lists it in the contents', () => {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { operationId, summary }] of Object.entries(methods)) {
      expect(page).toContain(`<article id="${operationId}">`)
      expect(flat).toContain(`<li><a href="#${operationId}"><b class="${method}">${method.toUpperCase()}</b> <code>${path}</code></a></li>`)
      expect(page).toContain(summary.split('`')[0])
    }
  }
  expect(page.match(/<article id="(?!schema-)/g)).toHaveLength(routes.length)
})

test('every link leads to something in the page, or to the document', () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])
  expect(new Set(ids).size).toBe(ids.length)
  const links = [...page.matchAll(/ href="([^"]+)"/g)].map((match) => match[1] ?? '')
  expect(new Set(links.filter((link) => !link.startsWith('#')))).toEqual(new Set(['/openapi.json']))
  expect(links.filter((link) => link.startsWith('#') && !ids.includes(link.slice(1)))).toEqual([])
  for (const code of Object.keys(ERRORS)) expect(ids).toContain(`error-${code}`)
})

test('is well formed, has no script, no picture and no style but its own, and asks for nothing', () => {
  const seen = new Set(tagsOf(page))
  for (const name of ['script', 'img', 'link', 'iframe', 'object', 'form', 'base']) expect(seen).not.toContain(name)
  expect(page).not.toMatch(/ (style|on\w+|src|srcset)=/)
  expect(page).not.toMatch(/@import|url\(/)
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? ''
  expect(CONTENT_POLICY).toContain(`default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`)
  expect(CONTENT_POLICY).not.toContain('unsafe')
})

test('a field, a nested field, what it may be, and that it is required, can be read', () => {
  const session = flat.slice(flat.indexOf('id="schema-Session"'), flat.indexOf('id="schema-SessionEventPage"'))
  expect(session).toContain('<code class="name">id</code> text <em>required</em>')
  expect(session).toContain('<code class="name">expires_at</code> text or null')
  expect(session).toMatch(/<summary><code class="name">deadlines<\/code> object .*<code class="name">idle_at<\/code>/)
  expect(flat).toMatch(/<code class="name">wait_ms<\/code> whole number ?<small>0 to 60000, default 0<\/small>/)
  expect(flat).toMatch(/<code class="name">label<\/code> list of text ?.*A label as name=value/)
})

test('the body in every example is one that its route takes', () => {
  const examples = routes.flatMap(({ method, path, body }) => {
    const operation = paths[path]?.[method.toLowerCase()]
    const example = operation === undefined ? undefined : exampleBody(method, path, operation, components.schemas)
    return example === undefined || !(body instanceof z.ZodType) ? [] : [{ name: `${method} ${path}`, body, example }]
  })
  expect(examples.length).toBeGreaterThan(15)
  for (const { name, body, example } of examples) expect(body.safeParse(example), name).toMatchObject({ success: true })
})

test('the query in every example is one that its route takes', () => {
  for (const { method, path, query } of routes) {
    const operation = paths[path]?.[method.toLowerCase()]
    if (operation === undefined) continue
    const line = curlOf(method, path, operation, components.schemas)
    const given = new URLSearchParams(/\?([^"]*)"/.exec(line)?.[1] ?? '')
    expect(query.safeParse(Object.fromEntries(given)), line).toMatchObject({ success: true })
  }
})

test('an example is a line that a shell reads as it is meant', () => {
  const example = (method: string, path: string) => {
    const operation = paths[path]?.[method.toLowerCase()]
    return operation === undefined ? '' : curlOf(method, path, operation, components.schemas)
  }
  expect(example('POST', '/v1/exec')).toBe(
    String.raw`curl -sN "$URL/v1/exec" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"scope":"chat","variables":{"launcher_type":"group","launcher_id":"123456"},"command":"python3 -c \"print(6*7)\""}'`,
  )
  expect(example('POST', '/v1/sessions/{id}/transfer')).toContain(`-H 'If-Match: "1"'`)
  expect(example('GET', '/healthz')).toBe('curl -s "$URL/healthz"')
  expect(example('PUT', '/v1/sessions/{id}/files')).toContain('-X PUT "$URL/v1/sessions/$ID/files?path=notes.txt"')
})

test('whatever stands in a document stays text', () => {
  const evil = `"><script>alert(1)</script>'&\`<img src=x onerror=alert(1)>\``
  const field = { type: 'string', description: evil, pattern: evil, enum: [evil], default: evil }
  const operation = {
    ...{ operationId: 'evil', summary: evil, tags: [evil], 'x-authorization': evil },
    parameters: [{ name: evil, in: 'query', required: true, description: evil, schema: field }],
    requestBody: { required: true, content: { 'application/json': { schema: { type: 'object', properties: { [evil]: field } } } } },
    responses: { 200: { description: evil, content: { [evil]: { schema: { $ref: `#/components/schemas/${evil}` } } } } },
  }
  const hostile = referencePage({
    info: { title: evil, version: evil, description: evil },
    paths: { [evil]: { post: operation } },
    components: { parameters: {}, schemas: { [evil]: { type: 'object', properties: { [evil]: field } } } },
  })
  expect(hostile).not.toMatch(/<script|<img/)
  const seen = new Set(tagsOf(hostile))
  expect(seen).not.toContain('script')
})
