/** Quantiles are values that were measured, whatever the order and number of samples. */
import { expect, test } from 'vitest'
import { median, quantile, rounded } from './statistics.ts'

test('the median of an odd number of samples is the middle one', () => {
  expect(median([5, 1, 9])).toBe(5)
})

test('the median of an even number of samples is the lower middle one, never a value nobody measured', () => {
  expect(median([4, 1, 3, 2])).toBe(2)
})

test('the 95th percentile of 100 samples is the 95th of them', () => {
  const samples = Array.from({ length: 100 }, (_, index) => 100 - index)
  expect(quantile(samples, 0.95)).toBe(95)
})

test('a single sample is every quantile', () => {
  expect([quantile([7], 0.01), quantile([7], 0.5), quantile([7], 1)]).toEqual([7, 7, 7])
})

test('samples are compared as numbers and left in their order', () => {
  const samples = [10, 9, 2]
  expect(median(samples)).toBe(9)
  expect(samples).toEqual([10, 9, 2])
})

test('no samples have no quantile, and a share beyond the whole is refused', () => {
  expect(() => median([])).toThrow('no samples')
  expect(() => quantile([1], 1.1)).toThrow('not at 1.1')
  expect(() => quantile([1], 0)).toThrow('not at 0')
})

test('rounding keeps digits that count, large or small', () => {
  expect([rounded(0.012_345), rounded(1234.5), rounded(0)]).toEqual([0.0123, 1230, 0])
})
