/**
 * Reads what vitest and the test environment left in the report directory, and puts it into words and totals.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * @typedef {{ status: string, fullName: string, ancestorTitles: string[], title: string }} Assertion
 * @typedef {{ name: string, status: string, message?: string, assertionResults: Assertion[] }} FileResult
 * @typedef {{ kind: string, skipReason: string | null }} BackendNote
 *
 * @typedef {object} Report
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {readonly FileResult[]} files
 * @property {readonly string[]} remarks failures that no single test stands for
 */

/**
 * @param {string} directory
 * @param {number} exitCode of vitest
 * @returns {Report}
 */
export function readVitestReport(directory, exitCode) {
  const path = join(directory, 'vitest.json')
  /** @type {FileResult[]} */
  const files = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).testResults : []
  const tests = files.flatMap((file) => file.assertionResults)
  const count = (/** @type {string[]} */ ...statuses) => tests.filter((test) => statuses.includes(test.status)).length
  const brokenFiles = files.filter((file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'))
  const remarks = brokenFiles.map((file) => `✗ ${file.name} could not be run`)
  let failed = count('failed') + brokenFiles.length
  if (exitCode !== 0 && failed === 0) {
    failed = 1
    remarks.push(`✗ vitest ended with exit code ${exitCode} although no test failed; see above`)
  }
  return { passed: count('passed'), failed, skipped: count('pending', 'skipped', 'todo', 'disabled'), files, remarks }
}

/**
 * One line per suite that skipped something, so that a skip is never silent.
 *
 * @param {Report} report
 * @returns {string[]}
 */
export function describeSkips(report) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const test of report.files.flatMap((file) => file.assertionResults)) {
    if (test.status === 'passed' || test.status === 'failed') continue
    const suite = test.ancestorTitles[0] ?? test.title
    counts.set(suite, (counts.get(suite) ?? 0) + 1)
  }
  return [...counts].map(([suite, count]) => `skipped: ${suite} (${count})`)
}

/**
 * Says for each backend whether it was covered, and if not, why.
 *
 * @param {string} directory
 * @param {Report} report
 * @returns {string[]}
 */
export function describeBackends(directory, report) {
  const backends = readBackends(directory)
  if (backends.length === 0) return ['backends: no test that ran asked for one']
  return backends.map(({ kind, skipReason }) => {
    if (skipReason !== null) return `backend ${kind}: skipped: ${skipReason}`
    const passed = countPassed(report, kind)
    return passed > 0 ? `backend ${kind}: covered by ${passed} passed tests` : `backend ${kind}: present, but no test of it passed`
  })
}

/**
 * A backend that is required and present, and of which nothing was proved, is as bad as a missing one.
 *
 * @param {Report} report of a run of everything
 * @param {readonly string[]} required
 * @returns {string[]} one sentence per failure
 */
export function uncoveredBackends(report, required) {
  const uncovered = required.filter((kind) => countPassed(report, kind) === 0)
  return uncovered.map((kind) => `✗ ${kind} is required by HOLDFAST_REQUIRE_BACKENDS, but no test of it passed`)
}

/**
 * @param {string} directory
 * @returns {BackendNote[]}
 */
function readBackends(directory) {
  const path = join(directory, 'backends.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : []
}

/**
 * The suites are bound to a backend in `<kind>.contract.test.ts`, or name it. That the test environment found it proves nothing about it.
 *
 * @param {Report} report
 * @param {string} kind
 */
function countPassed(report, kind) {
  const word = new RegExp(`\\b${kind}\\b`)
  const suites = report.files.filter(({ name }) => /\.(contract|crash|e2e)\.test\.ts$/.test(name) && !name.includes('/test/environment/'))
  const tests = suites.flatMap((file) => file.assertionResults.filter((test) => word.test(basename(file.name)) || word.test(test.fullName)))
  return tests.filter((test) => test.status === 'passed').length
}
