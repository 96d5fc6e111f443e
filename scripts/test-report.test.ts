/**
 * The totals of `npm test` never look better than the run was.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describeBackends, describeSkips, readVitestReport, uncoveredBackends } from './test-report.mjs'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-report-test-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

function assertion(status: string, suite: string) {
  return { status, title: 'holds', ancestorTitles: [suite], fullName: `${suite} holds` }
}

function write(...testResults: readonly object[]): void {
  writeFileSync(join(directory, 'vitest.json'), JSON.stringify({ testResults }))
}

test('a vitest that crashed counts as a failure', () => {
  expect(readVitestReport(directory, 1)).toMatchObject({ passed: 0, failed: 1 })
})

test('a file that could not be loaded counts as a failure', () => {
  write({ name: 'a.test.ts', status: 'failed', message: 'no such module', assertionResults: [] })
  expect(readVitestReport(directory, 1)).toMatchObject({ failed: 1, remarks: ['✗ a.test.ts could not be run'] })
})

test('an error outside of the tests counts as a failure', () => {
  write({ name: 'a.test.ts', status: 'passed', assertionResults: [assertion('passed', 'a')] })
  expect(readVitestReport(directory, 1)).toMatchObject({ passed: 1, failed: 1 })
})

test('skipped tests are counted and named by their suite', () => {
  write({
    name: 'a.test.ts',
    status: 'passed',
    assertionResults: [assertion('skipped', 'b (skipped: why)'), assertion('pending', 'b (skipped: why)')],
  })
  const report = readVitestReport(directory, 0)
  expect(report).toMatchObject({ failed: 0, skipped: 2 })
  expect(describeSkips(report)).toEqual(['skipped: b (skipped: why) (2)'])
})

test('a backend is covered only by passed tests of it, and a required one that is not is a failure', () => {
  write(
    { name: '/x/docker.contract.test.ts', status: 'passed', assertionResults: [assertion('passed', 'isolation')] },
    { name: '/x/podman.contract.test.ts', status: 'passed', assertionResults: [assertion('skipped', 'isolation')] },
    { name: '/test/environment/a.contract.test.ts', status: 'passed', assertionResults: [assertion('passed', 'has nsjail')] },
  )
  const note = [
    { kind: 'docker', skipReason: null },
    { kind: 'podman', skipReason: null },
    { kind: 'nsjail', skipReason: 'not there' },
  ]
  writeFileSync(join(directory, 'backends.json'), JSON.stringify(note))
  const report = readVitestReport(directory, 0)
  expect(describeBackends(directory, report)).toEqual([
    'backend docker: covered by 1 passed tests',
    'backend podman: present, but no test of it passed',
    'backend nsjail: skipped: not there',
  ])
  expect(uncoveredBackends(report, ['docker', 'podman', 'nsjail'])).toHaveLength(2)
})
