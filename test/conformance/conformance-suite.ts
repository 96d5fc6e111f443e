/**
 * The conformance suite of the protocol's authors, unmodified, as a program that is run against an address.
 *
 * It judges by a list of expected failures: one that is not listed fails the run, and so does one that is listed and passes.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export const EXPECTED_FAILURES = join(import.meta.dirname, 'expected-failures')
const NOTHING_EXPECTED = join(EXPECTED_FAILURES, 'nothing.yml')
/** A busy machine; the suite gives each scenario half a minute of its own. */
const LIMIT_MS = 280_000
const OUTPUT_BYTES = 32 * 1024 * 1024

/** The newest, which knows both revisions, and the newest that is not a preview, which knows the earlier one. */
export const SUITES = { newest: '@modelcontextprotocol/conformance', stable: 'conformance-stable' } as const

export interface SuiteRun {
  readonly suite: keyof typeof SUITES
  readonly url: string
  readonly revision: string
  /** Names a file of expected failures; where there is none, everything has to pass. */
  readonly expected: string
}

export interface SuiteVerdict {
  readonly exitCode: number
  /** How many scenarios it ran. */
  readonly scenarios: number
  /** What it says in the end, with the failures. */
  readonly summary: string
}

export async function runSuite({ suite, url, revision, expected }: SuiteRun): Promise<SuiteVerdict> {
  const program = join(dirname(createRequire(import.meta.url).resolve(`${SUITES[suite]}/package.json`)), 'dist', 'index.js')
  const baseline = join(EXPECTED_FAILURES, `${expected}.yml`)
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'))
  const args = [
    ...['server', '--url', url, '--suite', 'all', '--spec-version', revision, '--output-dir', directory],
    // With a list the suite counts warnings too.
    ...['--expected-failures', existsSync(baseline) ? baseline : NOTHING_EXPECTED],
  ]
  try {
    const { exitCode, output } = await run([program, ...args], directory)
    const summary = output.slice(Math.max(0, output.indexOf('=== SUMMARY ===')))
    return { exitCode, scenarios: summary.match(/^[✓✗] \S+: \d+ passed/gm)?.length ?? 0, summary }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function run(args: readonly string[], cwd: string): Promise<{ readonly exitCode: number; readonly output: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd, timeout: LIMIT_MS, maxBuffer: OUTPUT_BYTES }, (_error, stdout, stderr) =>
      resolve({ exitCode: child.exitCode ?? -1, output: `${stdout}\n${stderr}` }),
    )
  })
}
