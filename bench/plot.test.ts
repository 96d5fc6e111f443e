/** The plot is one well-formed picture that shows every promised figure and says which are missed. */
import { expect, test } from 'vitest'
import { EXAMPLE_RESULTS } from './example-results.ts'
import { plot } from './plot.ts'

const svg = plot(EXAMPLE_RESULTS)

function widthsOf(kind: string): readonly number[] {
  const bars = svg.matchAll(new RegExp(`<rect class="${kind}" x="324" y="\\d+" width="([\\d.]+)" height="18"`, 'g'))
  return [...bars].map((match) => Number(match[1]))
}

test('every figure with a bar is drawn, as long as its share of the bar', () => {
  const barLength = 360 / 1.5
  expect(widthsOf('bubblewrap')).toEqual([0.45 / 0.7, 0.7].map((share) => Number((share * barLength).toFixed(1))))
})

test('a bar beyond the axis is cut at its end', () => {
  expect(widthsOf('docker')[1]).toBe(360)
  const far = { ...EXAMPLE_RESULTS, figures: EXAMPLE_RESULTS.figures.map((figure) => ({ ...figure, value: 1e6, ratio: 1e6 })) }
  expect(plot(far)).not.toMatch(/width="[\d.]{6,}"/)
})

test('a missed bar says so in words, a met one does not', () => {
  expect(svg).toContain('1.50 MB (≤ 1 MB, missed)')
  expect(svg).toContain('0.70 MB (≤ 1 MB)')
})

test('figures without a bar are left out', () => {
  expect(svg).not.toContain('p95 against p95')
})

test('text is escaped, and every element is closed', () => {
  expect(svg).toContain('idle guest &lt;resident&gt;')
  const tags = [...svg.matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)].filter(([, , , selfClosing]) => selfClosing === '')
  const named = (slash: string) => tags.filter((tag) => tag[1] === slash).map((tag) => tag[2] ?? '')
  expect(named('').toSorted(byName)).toEqual(named('/').toSorted(byName))
})

function byName(left: string, right: string): number {
  return left.localeCompare(right)
}

test('dark readers get their own colours', () => {
  expect(svg).toContain('@media (prefers-color-scheme: dark)')
})
