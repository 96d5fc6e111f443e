/** Every example runs against a real server, prints what its first lines say, and has its line in the README. */
import { globSync, readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runProgram } from '../packages/sdk/src/contract/run-program.ts'
import { isSkipped, startServerForTests, why } from '../packages/sdk/src/contract/running-server.ts'
import type { ServerForTests } from '../packages/sdk/src/contract/running-server.ts'
import { findProgram } from '../test/environment/program.ts'

const ROOT = join(import.meta.dirname, '..')
/** What runs a file, by the end of its name, and what it needs. */
const RUNNERS: Readonly<Record<string, { readonly program: string; readonly needs: string }>> = {
  '.sh': { program: 'sh', needs: 'curl' },
  '.py': { program: 'python3', needs: 'python3' },
  '.ts': { program: process.execPath, needs: 'sh' },
}
/** Parts of examples. */
const PARTS = ['lines.ts', 'word_count_server.py']

const examples = globSync('*/*.{sh,py,ts}', { cwd: import.meta.dirname })
  .filter((path) => !PARTS.includes(basename(path)))
  .toSorted()
const page = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')

/** The indented block after "It prints", as an expression: `…` is anything in its line, and a line of its own any number of lines. */
function promiseOf(path: string): RegExp {
  const text = readFileSync(join(import.meta.dirname, path), 'utf8')
  const block = /^[ #*]*It prints.*:\n[ #*]*\n(?<lines>(?:(?:# | \* |)    .*\n)+)/m.exec(text)?.groups?.['lines']
  if (block === undefined) throw new Error(`examples/${path} does not say what it prints`)
  const lines = block.trimEnd().split('\n')
  const patterns = lines.map((line) => line.replace(/^(?:# | \* |) {4}/, '')).map(patternOf)
  return new RegExp(`^${patterns.join('')}$`)
}

function patternOf(line: string): string {
  if (line === '…') return '(?:.*\\n)*'
  return `${line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '.*')}\\n`
}

test('each example has its line in the README, and the README no other', () => {
  const linked = [...page.matchAll(/^\| \[.*?\]\((?<path>.*?)\)/gm)].map(({ groups }) => groups?.['path'] ?? '')
  expect(linked.toSorted()).toEqual(examples)
  for (const path of examples) expect(page).toContain(` examples/${path}\``)
})

describe.skipIf(isSkipped)(`the examples${why}`, () => {
  let running: ServerForTests
  beforeAll(async () => {
    running = await startServerForTests({ HOLDFAST_WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.1/32', HOLDFAST_SESSIONS_ON_STOP: 'suspend' })
  })
  afterAll(() => running.close())

  for (const path of examples) {
    const { program, needs } = RUNNERS[extname(path)] ?? { program: 'false', needs: 'a way to run it' }
    const isMissing = findProgram(needs) === null
    const name = isMissing ? `${path} (skipped: ${needs} is not installed)` : path
    test.skipIf(isMissing)(name, async () => {
      const env = { HOLDFAST_URL: running.server.url, HOLDFAST_API_KEY: running.apiKey }
      const end = await runProgram(program, [join('examples', path)], ROOT, env)
      expect(end).toMatchObject({ exitCode: 0, stderr: '' })
      expect(end.stdout).toMatch(promiseOf(path))
    })
  }
})
