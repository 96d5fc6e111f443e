/**
 * Lets a server live until it dies at the step it was given, and tells what it had said.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Facts } from './operation.ts'
import type { VictimPlan } from './victim.ts'

/** Far beyond what the longest operation takes on a busy machine. */
const PATIENCE_MS = 90_000

export interface Death {
  readonly facts: Facts
  /** All its steps, when it came to its end; otherwise `null`. */
  readonly steps: readonly string[] | null
}

/** With `lifeMs` it is killed so long after it said that it is ready. */
export async function liveAndDie(program: string, plan: VictimPlan, lifeMs: number | null = null): Promise<Death> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, JSON.stringify(plan)], {
    // It ends with its stdin, so that it does not outlive a test that was given up.
    stdio: ['pipe', 'pipe', 'pipe'],
    // Most of a short life is the reading of its program.
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(program), 'compile-cache') },
  })
  const died = once(child, 'exit')
  let facts = plan.facts
  let steps: readonly string[] | null = null
  let complaint = ''
  let isLate = false
  const patience = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, PATIENCE_MS)
  child.stderr.on('data', (bytes: Buffer) => (complaint += bytes.toString()))
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    const said = JSON.parse(line) as Facts & { readonly steps?: readonly string[] }
    if (said['ready'] === true && lifeMs !== null) setTimeout(() => child.kill('SIGKILL'), lifeMs)
    if (said.steps === undefined) facts = { ...facts, ...said }
    else steps = said.steps
  })
  await Promise.all([died, once(lines, 'close')])
  clearTimeout(patience)
  if (isLate) throw new Error(`the server came to no end within ${PATIENCE_MS} ms: ${complaint}`)
  if (child.signalCode !== 'SIGKILL') throw new Error(`the server died by itself: ${complaint}`)
  return { facts, steps }
}
