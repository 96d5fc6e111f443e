/**
 * The C side of `npm test`: unit tests under AddressSanitizer and UBSan, then a short run of each fuzzer.
 *
 * `guest/tests/NAME_test.c` is linked with every `guest/src/*.c` but `main.c`; it prints `ok CLAIM` or `not ok CLAIM` per test and
 * exits 0 when all held. `guest/fuzz/NAME.c` defines `LLVMFuzzerTestOneInput`; its seeds are `guest/corpus/`.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { filesIn } from './build-guest.mjs'
import { hasLibFuzzer } from './guest/lib-fuzzer.mjs'
import { buildSanitized, buildSanitizedGuest } from './guest/sanitized-build.mjs'
import { capture } from './set-up/command.mjs'
import { say, SetUpError, step } from './set-up/say.mjs'

const FUZZ_SECONDS = 10
/** A test that hangs is a failed test; sanitized code on a busy machine is slow. */
const UNIT_TEST_LIMIT_SECONDS = 120

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Totals
 */

/**
 * @param {string} root the repository
 * @param {readonly string[]} filters only tests whose file name contains one of them; none: all
 * @returns {Promise<Totals>}
 */
export async function runGuestTests(root, filters) {
  const { unitTests, fuzzers } = guestTestFiles(root, filters)
  /** @type {Totals} */
  const totals = { passed: 0, failed: 0, skipped: 0 }
  await step('Compiling the whole guest with sanitizers', () => buildSanitizedGuest(root))
  for (const path of unitTests) add(totals, await orFailed(runUnitTest(root, path)))
  for (const path of fuzzers) add(totals, await orFailed(runFuzzer(root, path)))
  return totals
}

/**
 * @param {string} root the repository
 * @param {readonly string[]} filters
 */
export function hasGuestTests(root, filters) {
  const { unitTests, fuzzers } = guestTestFiles(root, filters)
  return unitTests.length + fuzzers.length > 0
}

/**
 * @param {string} root
 * @param {readonly string[]} filters
 */
function guestTestFiles(root, filters) {
  const isWanted = (/** @type {string} */ path) => filters.length === 0 || filters.some((filter) => path.includes(filter))
  return {
    unitTests: filesIn(join(root, 'guest', 'tests'), '_test.c').filter(isWanted),
    fuzzers: filesIn(join(root, 'guest', 'fuzz'), '.c').filter(isWanted),
  }
}

/**
 * A test that does not compile is one failed test; the others still run.
 *
 * @param {Promise<Totals>} test
 * @returns {Promise<Totals>}
 */
async function orFailed(test) {
  try {
    return await test
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error
    say(error.message)
    return { passed: 0, failed: 1, skipped: 0 }
  }
}

/**
 * @param {string} root
 * @param {string} path
 * @returns {Promise<Totals>}
 */
async function runUnitTest(root, path) {
  const name = basename(path, '.c')
  const binary = await step(`Compiling the guest's ${name} with sanitizers`, () => buildSanitized(root, path, 'unit'))
  const { exitCode, output } = await capture('timeout', ['--kill-after=5', `${UNIT_TEST_LIMIT_SECONDS}`, binary], { cwd: root })
  const passed = countLines(output, /^ok /gm)
  const failedLines = countLines(output, /^not ok /gm)
  const failed = exitCode === 0 ? failedLines : Math.max(failedLines, 1)
  const isSilent = passed + failed === 0
  if (failed > 0 || isSilent) say(output.trimEnd())
  if (exitCode === 124) say(`${name} did not end within ${UNIT_TEST_LIMIT_SECONDS} s`)
  if (isSilent) say(`${name} printed no \`ok\` line: it tested nothing`)
  say(`${failed > 0 || isSilent ? '✗' : '✓'} guest/tests/${name}.c: ${passed} passed, ${failed} failed`)
  return { passed, failed: isSilent ? 1 : failed, skipped: 0 }
}

/**
 * With clang's libFuzzer, real fuzzing for a short while, seeded by the corpus; without, the corpus alone.
 *
 * @param {string} root
 * @param {string} path
 * @returns {Promise<Totals>}
 */
async function runFuzzer(root, path) {
  const name = basename(path, '.c')
  const canFuzz = hasLibFuzzer()
  const binary = await step(`Compiling the fuzzer ${name}`, () => buildSanitized(root, path, canFuzz ? 'fuzz' : 'corpus'))
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
  try {
    const seeds = seedDirectory(root, name)
    const args = canFuzz ? fuzzArguments(scratch, seeds) : seeds.flatMap((directory) => filesIn(directory, ''))
    const what = canFuzz
      ? `Fuzzing ${name} for ${FUZZ_SECONDS} s`
      : `Running the corpus through ${name} (no clang with libFuzzer here: no fuzzing)`
    const { exitCode, output } = await step(what, () => capture(binary, args, { cwd: root }))
    if (exitCode === 0) return { passed: 1, failed: 0, skipped: 0 }
    say(output.trimEnd().split('\n').slice(-60).join('\n'))
    say(`✗ guest/fuzz/${name}.c found a fault`)
    return { passed: 0, failed: 1, skipped: 0 }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/**
 * New inputs and crash files go to the scratch directory, never into the repository.
 *
 * @param {string} scratch
 * @param {readonly string[]} seeds
 */
function fuzzArguments(scratch, seeds) {
  const found = join(scratch, 'found')
  mkdirSync(found)
  return [
    `-max_total_time=${FUZZ_SECONDS}`,
    '-timeout=5',
    '-rss_limit_mb=1024',
    '-print_final_stats=1',
    `-artifact_prefix=${scratch}/`,
    found,
    ...seeds,
  ]
}

/**
 * A fuzzer's own seeds, `guest/corpus/NAME/`, or else those that all share.
 *
 * @param {string} root
 * @param {string} name
 * @returns {string[]}
 */
function seedDirectory(root, name) {
  const corpus = join(root, 'guest', 'corpus')
  const candidates = [join(corpus, name), corpus]
  return candidates.filter(isDirectoryWithFiles).slice(0, 1)
}

/** @param {string} path */
function isDirectoryWithFiles(path) {
  try {
    return readdirSync(path, { withFileTypes: true }).some((entry) => entry.isFile())
  } catch {
    return false // no such corpus: the fuzzer starts from nothing
  }
}

/**
 * @param {string} text
 * @param {RegExp} pattern
 */
function countLines(text, pattern) {
  return text.match(pattern)?.length ?? 0
}

/**
 * @param {Totals} totals
 * @param {Totals} more
 */
function add(totals, more) {
  totals.passed += more.passed
  totals.failed += more.failed
  totals.skipped += more.skipped
}
