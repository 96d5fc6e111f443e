/** A Box is switched off by saying so, in whatever way. */
import { expect, test } from 'vitest'
import { isBoxEnabled } from './enabled.ts'

test.each([
  [undefined, true],
  [true, true],
  ['yes', true],
  [false, false],
  ['false', false],
  ['0', false],
  ['Off', false],
  [0, false],
  [null, true],
])('enabled: %j is %j', (enabled, expected) => {
  expect(isBoxEnabled(enabled === undefined ? {} : { enabled })).toBe(expected)
})
