/** Labels of links: short enough for a name of DNS, and nobody else's. */
import { expect, test } from 'vitest'
import { randomId } from '../home/random-id.ts'
import { previewLabels } from './preview-label.ts'

const labels = previewLabels(new Uint8Array(32).fill(7))
const letters = 'abcdefghijklmnopqrstuvwxyz234567'

test('a label is a name of DNS, and leads back to its link', () => {
  for (let turn = 0; turn < 200; turn += 1) {
    const id = randomId('lnk')
    const label = labels.of(id)
    expect(label).toMatch(/^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/)
    expect(labels.read(label)).toBe(id)
  }
})

test('a label in which one letter is another leads nowhere', () => {
  const label = labels.of('lnk_0123456789abcdef')
  for (let place = 0; place < label.length; place += 1)
    for (const letter of letters) {
      const other = `${label.slice(0, place)}${letter}${label.slice(place + 1)}`
      expect(labels.read(other)).toBe(other === label ? 'lnk_0123456789abcdef' : null)
    }
})

test('a label of a server with another key, or a piece of one, leads nowhere', () => {
  const label = labels.of('lnk_0123456789abcdef')
  expect(previewLabels(new Uint8Array(32).fill(8)).read(label)).toBeNull()
  for (const other of ['', '-', label.slice(1), label.slice(0, -1), `${label}a`, label.toUpperCase(), `x.${label}`, label.replace('-', '')])
    expect(labels.read(other)).toBeNull()
})
