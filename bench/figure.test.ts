/** A bar can point up or down, and can judge the ratio or the value. */
import { expect, test } from 'vitest'
import { judged, shareOfBar, type Bar, type Measured } from './figure.ts'

function figure(value: number, bar: Bar | null, referenceValue: number | null = 2) {
  const reference = referenceValue === null ? null : { title: 'the host', value: referenceValue }
  const measured: Measured = { id: 'x', title: 'x', value, unit: 'ms', samples: 1, reference, bar }
  return judged('bubblewrap', measured)
}

test('the ratio is the value by its reference, and absent without one', () => {
  expect(figure(1, null).ratio).toBe(0.5)
  expect(figure(1, null, null).ratio).toBeNull()
})

test('at most: the bar itself is met, above is not', () => {
  expect(figure(1.4, { of: 'ratio', at: 'most', limit: 0.7 }).met).toBe(true)
  expect(figure(1.5, { of: 'ratio', at: 'most', limit: 0.7 }).met).toBe(false)
})

test('at least: the bar itself is met, below is not', () => {
  expect(figure(4, { of: 'ratio', at: 'least', limit: 2 }).met).toBe(true)
  expect(figure(3.9, { of: 'ratio', at: 'least', limit: 2 }).met).toBe(false)
})

test('a bar of the value ignores the reference', () => {
  expect(figure(0.5, { of: 'value', at: 'most', limit: 0.6 }, 0.001).met).toBe(true)
})

test('without a bar nothing is met or missed', () => {
  expect(figure(1, null).met).toBeNull()
  expect(shareOfBar(figure(1, null))).toBeNull()
})

test('a bar for a ratio without a reference is a mistake of the measure', () => {
  expect(() => figure(1, { of: 'ratio', at: 'most', limit: 1 }, null)).toThrow('needs a reference')
})

test('the share of the bar is below one exactly when the bar is beaten', () => {
  expect(shareOfBar(figure(1, { of: 'ratio', at: 'most', limit: 1 }))).toBe(0.5)
  expect(shareOfBar(figure(8, { of: 'ratio', at: 'least', limit: 2 }))).toBe(0.5)
  expect(shareOfBar(figure(2, { of: 'ratio', at: 'least', limit: 2 }))).toBe(2)
})
