/** The terminal says plainly what was missed and what was left out. */
import { expect, test } from 'vitest'
import { EXAMPLE_RESULTS } from './example-results.ts'
import { figureLine, reportTable } from './report.ts'

const lines = reportTable(EXAMPLE_RESULTS).split('\n')

test('columns line up', () => {
  const [header = '', ...rows] = lines
  expect(rows.slice(0, 4).map((row) => row.indexOf('≤ '))).toEqual([
    header.indexOf('bar'),
    header.indexOf('bar'),
    -1,
    header.indexOf('bar'),
  ])
})

test('missed bars are counted and named, figures without a bar are not', () => {
  expect(lines.at(-1)).toBe('1 of 4 bars are MISSED: docker idle-guest')
})

test('skipped backends and absent limits are told with their reason', () => {
  expect(lines).toContain('podman was skipped: podman not installed')
  expect(lines).toContain('bubblewrap cannot limit cpus here, so its sandboxes ran without')
})

test('a run without a miss says that all is met', () => {
  const figures = EXAMPLE_RESULTS.figures.filter(({ met }) => met !== false)
  expect(
    reportTable({ ...EXAMPLE_RESULTS, figures })
      .split('\n')
      .at(-1),
  ).toBe('all 3 bars are met')
})

test('a progress line holds the figure and its verdict', () => {
  expect(EXAMPLE_RESULTS.figures.slice(1, 3).map(figureLine)).toEqual([
    'docker: idle guest <resident>: 1.50 MB (bar ≤ 1 MB: MISSED)',
    'docker: p95 against p95: 0.50×',
  ])
})
