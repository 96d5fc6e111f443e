/** The table holds every figure, and replaces nothing but what lies between its markers. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EXAMPLE_RESULTS } from './example-results.ts'
import { readmeTable, withTable, writeReadmeTable } from './readme-table.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

test('one row per figure, one column per backend, misses in bold, absent cells empty', () => {
  expect(readmeTable(EXAMPLE_RESULTS).split('\n').slice(0, 5)).toEqual([
    '| Work | Bar | docker | bubblewrap |',
    '|---|---|---|---|',
    '| warm `sh -c true`, p50 | ≤ 0.7× | 0.50× (1.30 ms) | 0.45× (1.17 ms) |',
    '| idle guest <resident> | ≤ 1 MB | **1.50 MB, missed** | 0.70 MB |',
    '| p95 against p95 | – | 0.50× (1.30 ms) |  |',
  ])
})

test('the footnote names the machine, the versions and what was skipped', () => {
  const footnote = readmeTable(EXAMPLE_RESULTS).split('\n').at(-1)
  expect(footnote).toContain('2 cores, 8 GB, Linux 6.1.0, Node v24.0.0')
  expect(footnote).toContain('docker 20.10; bubblewrap 0.11; podman skipped: podman not installed')
})

test('a busy machine is told, a quiet one is not', () => {
  const busy = { ...EXAMPLE_RESULTS, machine: { ...EXAMPLE_RESULTS.machine, loadBefore: 3 } }
  expect(readmeTable(busy)).toMatch(/other work was going on \(load 3\)\.$/)
  expect(readmeTable(EXAMPLE_RESULTS)).toMatch(/not installed\.$/)
})

test('everything outside of the markers stays, and doing it twice changes nothing more', () => {
  const readme = 'before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n'
  const once = withTable(readme, 'new')
  expect(once).toBe('before\n<!-- bench:begin -->\nnew\n<!-- bench:end -->\nafter\n')
  expect(withTable(once ?? '', 'new')).toBe(once)
})

test('missing or swapped markers leave the text alone', () => {
  expect(withTable('no markers', 'new')).toBeNull()
  expect(withTable('<!-- bench:end --> <!-- bench:begin -->', 'new')).toBeNull()
})

test('a missing README or missing markers are said, not thrown', () => {
  const path = join(directory, 'README.md')
  expect(writeReadmeTable(path, EXAMPLE_RESULTS)).toContain('there is no README.md')
  writeFileSync(path, 'hello\n')
  expect(writeReadmeTable(path, EXAMPLE_RESULTS)).toContain('lacks the markers')
  expect(readFileSync(path, 'utf8')).toBe('hello\n')
})

test('a README with markers gets the table', () => {
  const path = join(directory, 'README.md')
  writeFileSync(path, '<!-- bench:begin --><!-- bench:end -->')
  expect(writeReadmeTable(path, EXAMPLE_RESULTS)).toContain('up to date')
  expect(readFileSync(path, 'utf8')).toContain('0.50× (1.30 ms)')
})
