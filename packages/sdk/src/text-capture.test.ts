/** The beginning of a stream, kept up to a limit. */
import { expect, test } from 'vitest'
import { createTextCapture } from './text-capture.ts'

test('exactly the limit is whole, one more is cut and says so', () => {
  const capture = createTextCapture(5)
  capture.add('ab')
  capture.add('cde')
  expect([capture.text(), capture.isTruncated()]).toEqual(['abcde', false])
  capture.add('')
  expect(capture.isTruncated()).toBe(false)
  capture.add('f')
  expect([capture.text(), capture.isTruncated()]).toEqual(['abcde', true])
})

test('what was never seen counts as cut', () => {
  const capture = createTextCapture()
  capture.miss()
  capture.add('a')
  expect([capture.text(), capture.isTruncated()]).toEqual(['a', true])
})
