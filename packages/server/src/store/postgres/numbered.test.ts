/** Placeholders become numbers; what only looks like one stays. */
import { expect, test } from 'vitest'
import { createNumbering, numbered } from './numbered.ts'

test.each([
  ['SELECT 1', 'SELECT 1'],
  ['a = ? AND b IN (?, ?)', 'a = $1 AND b IN ($2, $3)'],
  [`'?' || ? || 'it''s ?'`, `'?' || $1 || 'it''s ?'`],
  ['"odd?" = ? AND "a""?" = ?', '"odd?" = $1 AND "a""?" = $2'],
  ['? -- why?\n, ?', '$1 -- why?\n, $2'],
  ['? /* why?\n? */ ?', '$1 /* why?\n? */ $2'],
])('%s', (text, expected) => {
  expect(numbered(text)).toBe(expected)
})

test('a text has one name for good, and texts beyond the bound have none', () => {
  const numbering = createNumbering()
  const first = numbering('SELECT ?')
  expect(first.name).toBeDefined()
  const names = Array.from({ length: 1_000 }, (_, index) => numbering(`SELECT ${index}`).name)
  const named = names.filter((name) => name !== undefined)
  expect(new Set([...named, first.name]).size).toBe(500)
  expect(numbering('SELECT ?')).toBe(first)
  expect(numbering('SELECT 999, ?')).toEqual({ text: 'SELECT 999, $1' })
})
