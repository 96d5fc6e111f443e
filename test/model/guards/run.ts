/**
 * Every guard matters: each is taken out of a copy of the tree, and a run there must notice.
 *
 * `node test/model/guards/run.ts [part of a file or of a guard's text]`. Two copies are worked on at a time. The working tree is only read.
 * A guard whose text is no longer in its file fails the run: the list belongs to the code.
 * `HOLDFAST_GUARD_SEQUENCES=0`: by the directed stories alone, which is how each is to be noticed; chance only comes on top.
 */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Guard } from './guard.ts'
import { LIFECYCLE_GUARDS } from './lifecycle-guards.ts'
import { SERVICE_GUARDS } from './service-guards.ts'
import { TABLE_GUARDS } from './table-guards.ts'
import { copyTree } from './tree-copy.ts'

const ROOT = join(import.meta.dirname, '../../..')
const SOURCES = 'packages/server/src'
const AT_ONCE = 2
const SEQUENCES = process.env.HOLDFAST_GUARD_SEQUENCES ?? '250'
/** Of the sequences; the same for all guards, so that a guard that was noticed once is noticed again. */
const SEED = process.env.HOLDFAST_MODEL_SEED ?? '20260101'
const LIMIT_MS = 300_000
const UNIT_TESTS = ['packages/server/src/sessions/lifecycle', 'test/model/table-conditions']

const [filter = ''] = process.argv.slice(2)
const guards = [...LIFECYCLE_GUARDS, ...SERVICE_GUARDS, ...TABLE_GUARDS].filter(
  ({ file, text }) => file.includes(filter) || text.includes(filter),
)

const stale = guards.filter(({ file, text }) => occurrences(readFileSync(join(ROOT, SOURCES, file), 'utf8'), text) !== 1)
for (const { file, text } of stale) say(`✗ not exactly once in ${file}: ${oneLine(text)}`)

const rest = guards.filter((guard) => !stale.includes(guard))
const survivors: Guard[] = []
const startedAt = performance.now()
await expectWhole()
await Promise.all(Array.from({ length: AT_ONCE }, worker))
say(
  `${guards.length} guards, ${survivors.length} not noticed, ${stale.length} not found, ${Math.round((performance.now() - startedAt) / 1000)} s`,
)
process.exitCode = survivors.length + stale.length > 0 ? 1 : 0

/** With every guard in its place both runs are green; otherwise they would notice anything. */
async function expectWhole(): Promise<void> {
  const tree = copyTree(ROOT)
  try {
    for (const whole of await Promise.all([runModel(tree), runUnitTests(tree)]))
      if (whole.isNoticed) throw new Error(`the tree fails with every guard in place: ${whole.how}`)
    say(`with every guard in place both runs are green (${Math.round((performance.now() - startedAt) / 1000)} s)`)
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

async function worker(): Promise<void> {
  const tree = copyTree(ROOT)
  try {
    for (let guard = rest.shift(); guard !== undefined; guard = rest.shift()) await tryWithout(tree, guard)
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

async function tryWithout(tree: string, guard: Guard): Promise<void> {
  const path = join(tree, SOURCES, guard.file)
  const whole = readFileSync(path, 'utf8')
  const begunAt = performance.now()
  writeFileSync(
    path,
    whole.replace(guard.text, () => guard.without),
  )
  const { isNoticed, how } = await (guard.noticedBy === 'model' ? runModel(tree) : runUnitTests(tree))
  writeFileSync(path, whole)
  const seconds = Math.round((performance.now() - begunAt) / 1000)
  say(
    `${isNoticed ? '✓' : '✗ not noticed:'} ${guard.file} without ${oneLine(guard.text)} → ${oneLine(guard.without)} (${guard.noticedBy}, ${seconds} s)${how}`,
  )
  if (!isNoticed) survivors.push(guard)
}

interface Noticed {
  readonly isNoticed: boolean
  /** By what, in a few words. */
  readonly how: string
}

function runModel(tree: string): Promise<Noticed> {
  const env = { ...process.env, HOLDFAST_MODEL_SEQUENCES: SEQUENCES, HOLDFAST_MODEL_SEED: SEED, HOLDFAST_MODEL_SHRINK: '0' }
  return run(tree, ['--disable-warning=ExperimentalWarning', 'test/model/run.ts'], env)
}

function runUnitTests(tree: string): Promise<Noticed> {
  return run(tree, ['node_modules/vitest/vitest.mjs', 'run', ...UNIT_TESTS], { ...process.env, NO_COLOR: '1' })
}

/** One that does not end in time is noticed, too. */
function run(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Noticed> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const timer = setTimeout(() => child.kill('SIGTERM'), LIMIT_MS)
    child.on('close', (code) => {
      clearTimeout(timer)
      const reasons = output.split('\n').filter((line) => /^(?:the story |answered: |\s*[A-Za-z]*Error: )/.test(line))
      resolve({
        isNoticed: code !== 0,
        how: reasons
          .slice(0, 3)
          .map((line) => `\n    ${line.slice(0, 200)}`)
          .join(''),
      })
    })
  })
}

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1
}

function oneLine(text: string): string {
  return text === '' ? 'nothing' : text.replaceAll(/\s+/g, ' ').slice(0, 110)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
