/** Numbers read the same everywhere, and show what the bar judges. */
import { expect, test } from 'vitest'
import { judged, type Measured } from './figure.ts'
import { barText, quantityText, resultText } from './figure-text.ts'

const MEASURED: Measured = {
  id: 'x',
  title: 'x',
  value: 0.5,
  unit: 's',
  samples: 3,
  reference: { title: 'host', value: 2 },
  bar: null,
}

test('three digits, whatever the size', () => {
  expect(quantityText(1.2345, 'ms')).toBe('1.23 ms')
  expect(quantityText(12.345, 'ms')).toBe('12.3 ms')
  expect(quantityText(1577.4, 'commands/s')).toBe('1,577 commands/s')
  expect(quantityText(0.0234, 'ms')).toBe('0.023 ms')
  expect(quantityText(0, 'MB')).toBe('0.00 MB')
})

test('what the bar judges is what is shown', () => {
  const ofRatio = judged('docker', { ...MEASURED, bar: { of: 'ratio', at: 'most', limit: 0.7 } })
  const ofValue = judged('docker', { ...MEASURED, bar: { of: 'value', at: 'most', limit: 0.6 } })
  expect(resultText(ofRatio)).toBe('0.25×')
  expect(resultText(ofValue)).toBe('0.50 s')
})

test('without a bar the ratio is shown, and the value where there is none', () => {
  expect(resultText(judged('docker', MEASURED))).toBe('0.25×')
  expect(resultText(judged('docker', { ...MEASURED, reference: null }))).toBe('0.50 s')
})

test('a bar says its direction and its unit', () => {
  expect(barText({ of: 'ratio', at: 'most', limit: 0.7 }, 'ms')).toBe('≤ 0.7×')
  expect(barText({ of: 'value', at: 'least', limit: 300 }, 'MB/s')).toBe('≥ 300 MB/s')
  expect(barText(null, 'ms')).toBe('–')
})
