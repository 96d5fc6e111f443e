/** Both sides get the same number of runs, in turns. */
import { expect, test } from 'vitest'
import { interleave } from './interleave.ts'

test('blocks alternate after one warm-up of each, and the last block is cut to size', async () => {
  let order = ''
  const side = (letter: string) => async () => {
    order += letter
    return order.length
  }
  const samples = await interleave({ runs: 5, blockRuns: 2 }, side('r'), side('s'))
  expect(order).toBe(['rs', 'rrss', 'rrss', 'rs'].join(''))
  expect(samples).toEqual({ reference: [3, 4, 7, 8, 11], subject: [5, 6, 9, 10, 12] })
})
