/** The OpenAPI document: what the table says, whole and current. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { RELEASE } from '../../release.ts'
import { tableForDocument } from './contract/table-for-document.ts'
import { openApiDocument } from './openapi.ts'

const FILE = join(import.meta.dirname, '../../../../../docs/openapi.json')

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters: readonly { readonly name?: string; readonly in?: string }[]
  readonly responses: Readonly<Record<string, unknown>>
}

const routes = tableForDocument()
const document = JSON.parse(JSON.stringify(openApiDocument(routes, RELEASE))) as {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, unknown> }
}
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))

describe('the document', () => {
  test('has every route, each under a name of its own', () => {
    const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(listed.toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted())
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  })

  test('refers to nothing that is not in it, and names nothing that is not used', () => {
    const referred = new Set([...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1] ?? ''))
    expect([...referred].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted())
  })

  test('has a schema for every field that is required', () => {
    const lacking: string[] = []
    const look = (place: string, value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      const { properties, required } = value as { readonly properties?: object; readonly required?: readonly string[] }
      if (properties !== undefined)
        lacking.push(...(required ?? []).filter((name) => !(name in properties)).map((name) => `${place}.${name}`))
      for (const [name, inner] of Object.entries(value)) look(`${place}.${name}`, inner)
    }
    look('schemas', document.components.schemas)
    expect(lacking).toEqual([])
  })

  test('names the parameters of every path', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      for (const { parameters } of Object.values(methods))
        expect(parameters.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(named)
    }
  })

  test('lists the answers of each route, and a problem for bad input and for bugs', () => {
    for (const { responses, operationId } of operations)
      expect(Object.keys(responses), operationId).toEqual(expect.arrayContaining(['400', '500']))
  })

  test('is the one in docs/openapi.json', () => {
    expect(JSON.parse(readFileSync(FILE, 'utf8')), 'docs/openapi.json is not current: run contract/write-document.ts, then oxfmt').toEqual(
      document,
    )
  })
})
