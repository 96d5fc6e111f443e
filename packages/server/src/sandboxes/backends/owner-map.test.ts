/** Owner maps as the kernel reads them. */
import { expect, test } from 'vitest'
import { exchangedOwners } from './owner-map.ts'

test('two owners are exchanged and every other one stays', () => {
  expect(exchangedOwners(1000, 2_010_000_000)).toBe(
    '0 0 1000\n1000 2010000000 1\n1001 1001 2009998999\n2010000000 1000 1\n2010000001 2010000001 2284967294\n',
  )
})

test('root on disk is shown as another user, and no empty line is written', () => {
  expect(exchangedOwners(0, 1)).toBe('0 1 1\n1 0 1\n2 2 4294967293\n')
  expect(exchangedOwners(1, 0)).toBe(exchangedOwners(0, 1))
})
