/** Bytes as base64 and back. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromBase64, toBase64 } from './base64.ts'

test('any bytes come back as they were, and are what others write', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), (bytes) => {
      expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
      expect(fromBase64(toBase64(bytes))).toEqual(bytes)
    }),
  )
})

test('a megabyte fits', () => {
  const bytes = new Uint8Array(1024 * 1024).map((_, index) => index % 251)
  expect(fromBase64(toBase64(bytes))).toEqual(bytes)
})
