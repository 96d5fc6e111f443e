/** The order of the test files loses none, and keeps apart what computes. */
import { expect, test } from 'vitest'
import { mixed } from './mixed-order.ts'

const order = (...names: readonly string[]) => mixed(names, (name) => `/${name}.test.ts`).join(' ')

test('files that compute stand evenly among those that wait, the deepest first, and the quick ones at the end', () => {
  const waiting = ['1.e2e', '2.contract', '3.e2e', '4.contract', '5.e2e']
  expect(order('q', ...waiting, 'a.crash', 'r', 'deep/b.crash')).toBe('deep/b.crash 1.e2e 2.contract 3.e2e a.crash 4.contract 5.e2e q r')
})

test.each([
  [[]],
  [['q']],
  [['a.crash']],
  [['1.e2e', '2.e2e']],
  [['a.crash', 'b.crash', 'c.crash', '1.e2e', '2.e2e', '3.e2e', '4.e2e']],
  [['a.crash', 'b.crash', 'c.crash', '1.e2e']],
])('none of %j is lost', (names) => {
  expect(
    order(...names)
      .split(' ')
      .toSorted()
      .join(' '),
  ).toBe(names.toSorted().join(' '))
})
