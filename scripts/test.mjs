/**
 * `npm test`: the guest's C tests and fuzzers, then vitest for everything, then which backends were covered, then one line of totals.
 *
 * `npm test -- <filter>` runs the C tests and the test files whose names contain the filter.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasGuestTests, runGuestTests } from './guest-tests.mjs'
import { runInForeground } from './set-up/command.mjs'
import { say } from './set-up/say.mjs'
import { describeBackends, describeSkips, readVitestReport, uncoveredBackends } from './test-report.mjs'

/**
 * @param {string} root the repository
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 * @param {readonly string[]} args for vitest; those that are no options are filters
 * @returns {Promise<number>} the exit code
 */
export async function runTests(root, node, env, args) {
  const filters = args.filter((arg) => !arg.startsWith('-'))
  const reportDirectory = mkdtempSync(join(tmpdir(), 'holdfast-report-'))
  try {
    // The C side leaves one core idle, so vitest runs beside it; not on a terminal, where both draw.
    const guestTests = runGuestTests(root, filters)
    if (process.stderr.isTTY) await guestTests
    // A filter that means C tests may match no other file; without such a match, matching nothing is a mistake.
    const options = hasGuestTests(root, filters) ? ['--passWithNoTests'] : []
    const [guest, exitCode] = await Promise.all([guestTests, runVitest(root, node, env, [...options, ...args], reportDirectory)])
    const report = readVitestReport(reportDirectory, exitCode)
    const required = (env.HOLDFAST_REQUIRE_BACKENDS ?? '').split(',').filter((kind) => kind !== '')
    const uncovered = args.length === 0 ? uncoveredBackends(report, required) : []
    for (const line of [...describeSkips(report), ...report.remarks, ...describeBackends(reportDirectory, report), ...uncovered]) say(line)
    const passed = guest.passed + report.passed
    const failed = guest.failed + report.failed + uncovered.length
    process.stdout.write(`${passed} passed, ${failed} failed, ${guest.skipped + report.skipped} skipped\n`)
    return failed > 0 ? 1 : 0
  } finally {
    rmSync(reportDirectory, { recursive: true, force: true })
  }
}

/**
 * @param {string} root
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 * @param {readonly string[]} args
 * @param {string} reportDirectory
 */
async function runVitest(root, node, env, args, reportDirectory) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const short = join(root, 'test', 'environment', 'failures-in-short.ts')
  const reporters = [
    `--reporter=${short}`,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${join(reportDirectory, 'vitest.json')}`,
  ]
  const plain = process.stdout.isTTY || env.FORCE_COLOR !== undefined ? {} : { NO_COLOR: '1' }
  // Tests start our programs hundreds of times, and reading them is most of what a short one does.
  const compileCache = { NODE_COMPILE_CACHE: join(reportDirectory, 'compile-cache') }
  const testEnv = { ...env, ...plain, ...compileCache, HOLDFAST_TEST_REPORT: reportDirectory }
  const exitCode = await runInForeground(node, [vitest, 'run', ...reporters, ...args], { cwd: root, env: testEnv })
  // Whatever ended vitest, its private engines must not outlive it.
  await runInForeground(node, [join(root, 'test', 'environment', 'sweep.ts')], { cwd: root, env: testEnv })
  return exitCode
}
