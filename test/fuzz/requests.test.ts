/** What the generator makes: requests that a document allows, and requests with one thing wrong. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openApiDocument } from '../../packages/server/src/ingress/rest/openapi.ts'
import { tableForDocument } from '../../packages/server/src/ingress/rest/contract/table-for-document.ts'
import { readApiDocument } from './api-document.ts'
import { fault, spoil } from './nearly-valid.ts'
import { requestsTo } from './requests.ts'

const document = readApiDocument(JSON.parse(JSON.stringify(openApiDocument(tableForDocument(), '0'))))
const attempts = fc.sample(requestsTo(document), { numRuns: 6_000, seed: 1 })

test('every operation is tried in every manner', () => {
  for (const { name } of document.operations) {
    const manners = attempts.filter((attempt) => attempt.operation.name === name).map((attempt) => attempt.manner)
    expect([...new Set(manners)].toSorted(), name).toEqual(['hostile', 'nearly valid', 'valid'])
  }
})

test('what is meant as valid is what the schema allows', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'document', ...document.whole })
  for (const operation of document.operations) {
    const reference = operation.body?.['application/json']?.$ref
    if (reference === undefined) continue
    const isGood = ajv.compile({ $ref: reference.replace('#', 'document#') })
    const own = attempts.filter((attempt) => attempt.operation === operation && attempt.manner === 'valid')
    for (const { body } of own) {
      // A reference stands for what has the right form.
      const text = Buffer.from(body ?? [])
        .toString()
        .replaceAll(/@@(\w+)@@/g, '$1')
      expect(isGood(JSON.parse(text)), `${operation.name} ${text} ${JSON.stringify(isGood.errors)}`).toBe(true)
    }
  }
})

test('only harmless commands are sent, and no address of anybody', () => {
  const valid = attempts.filter(({ manner, body }) => manner === 'valid' && body !== null)
  for (const { body } of valid) {
    const text = Buffer.from(body ?? []).toString()
    for (const [, command] of text.matchAll(/"command":"(\w*)/g)) expect(['true', 'echo']).toContain(command)
    for (const [, host] of text.matchAll(/"url":"https?:\/\/(\[::1\]|[^/:"]+)/g))
      expect(['127.0.0.1', 'hook.invalid', '[::1]']).toContain(host)
  }
})

test('a spoilt value differs in one place', () => {
  fc.assert(
    fc.property(fault, (wrong) => {
      const value = { a: 'b', c: [1, { d: null }] }
      const spoilt = spoil(value, wrong)
      expect(JSON.stringify(spoilt)).toBeTypeOf('string')
      expect(value).toEqual({ a: 'b', c: [1, { d: null }] })
    }),
  )
})
