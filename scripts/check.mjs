/**
 * `npm run check`: the quick loop. Format, lint, types, architecture and the unit tests that need no sandbox.
 *
 * All of them run, whatever fails, and each shows its output only when it has something to say.
 */
import { join } from 'node:path'
import { capture } from './set-up/command.mjs'
import { say } from './set-up/say.mjs'

export const NEEDS_SANDBOX = '**/*.{contract,crash,e2e}.test.ts'

/**
 * @param {string} root the repository
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>} the exit code
 */
export async function runChecks(root, env) {
  const tool = (/** @type {string} */ name) => join(root, 'node_modules', '.bin', name)
  /** @type {readonly [string, string, ...string[]][]} */
  const checks = [
    ['format', tool('oxfmt'), '--check'],
    ['lint', tool('oxlint'), '--type-aware', '--deny-warnings'],
    ['types', tool('tsc'), '--noEmit', '-p', '.'],
    ['architecture and unit tests', tool('vitest'), 'run', '--reporter=dot', '--exclude', NEEDS_SANDBOX],
  ]
  let hasFailed = false
  for (const [name, program, ...args] of checks) {
    const startedAtMs = performance.now()
    const { exitCode, output } = await capture(program, args, { cwd: root, env })
    const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1)
    if (exitCode !== 0) say(output.trimEnd())
    say(`${exitCode === 0 ? '✓' : '✗'} ${name} (${seconds} s)`)
    hasFailed ||= exitCode !== 0
  }
  if (hasFailed) say('`npm run format` repairs the format.')
  return hasFailed ? 1 : 0
}
