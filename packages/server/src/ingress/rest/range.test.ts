/** Ranges and conditions, by RFC 9110. */
import { expect, test } from 'vitest'
import { isSameForRange, isUnchanged, rangeOf } from './range.ts'

const validators = { etag: 'W/"a-b"', lastModified: 'Sat, 03 Feb 2001 04:05:06 GMT' }
const modifiedAt = new Date('2001-02-03T04:05:06.700Z')

test.each([
  [undefined, null],
  ['bytes=0-0', { offset: 0, length: 1 }],
  ['bytes=2-', { offset: 2, length: 8 }],
  ['bytes= 2-3 ', { offset: 2, length: 2 }],
  ['bytes=9-9999', { offset: 9, length: 1 }],
  ['bytes=-4', { offset: 6, length: 4 }],
  ['bytes=-11', { offset: 0, length: 10 }],
  ['bytes=0-1,4-5', null],
  ['bytes=3-2', null],
  ['Bytes=0-1x', null],
  ['bytes=-', null],
  [`bytes=${'9'.repeat(16)}-`, null],
])('of ten bytes %j is %j', (header, range) => {
  expect(rangeOf(header, 10)).toEqual(range)
})

test.each(['bytes=10-', 'bytes=10-20', 'bytes=-0'])('of ten bytes %j is nothing', (header) => {
  expect(() => rangeOf(header, 10)).toThrow(expect.objectContaining({ code: 'range_not_satisfiable', details: { size: 10 } }))
})

test('a date vouches for a file that was left alone since, and nothing else does', () => {
  const at = (ifRange: string | undefined, now: string) => isSameForRange(ifRange, validators, modifiedAt, Date.parse(now))
  expect(at(undefined, '2001-02-03T04:05:06.800Z')).toBe(true)
  expect(at(validators.lastModified, '2001-02-03T04:05:09Z')).toBe(true)
  // It may change again within the second that the date names.
  expect(at(validators.lastModified, '2001-02-03T04:05:06.900Z')).toBe(false)
  expect(at('Sat, 03 Feb 2001 04:05:05 GMT', '2001-02-03T04:05:09Z')).toBe(false)
  expect(at(validators.etag, '2001-02-03T04:05:09Z')).toBe(false)
})

test.each([
  [undefined, false],
  ['*', true],
  ['W/"a-b"', true],
  ['"a-b"', true],
  ['"x", W/"a-b"', true],
  ['"x"', false],
])('If-None-Match: %s', (header, isSame) => {
  expect(isUnchanged(header, validators)).toBe(isSame)
})
