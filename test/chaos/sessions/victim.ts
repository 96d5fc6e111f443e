/**
 * The server that dies: carries out one operation and kills itself at one of its steps, or at its end.
 *
 * One JSON plan comes as its argument; what it said goes to stdout, one JSON object per line.
 */
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { isHoldfastError } from '@holdfast/protocol'
import type { Facts } from './operation.ts'
import { operationOf } from './all-operations.ts'
import { openLife } from './server-life.ts'
import type { Ground } from './server-life.ts'
import { countSteps } from './steps.ts'
import { steppedBackend } from './stepped-backend.ts'
import { tellHostSteps } from './stepped-host.ts'
import { steppedStore } from './stepped-store.ts'

export interface VictimPlan {
  readonly ground: Ground
  readonly operation: string
  readonly homeName: string
  /** `null`: it dies at its end. */
  readonly killAt: number | null
  /** From earlier lives. */
  readonly facts: Facts
}

async function live({ ground, operation: name, homeName, killAt, facts: earlier }: VictimPlan): Promise<void> {
  const operation = operationOf(name)
  const steps = countSteps()
  let facts = earlier
  // Unbuffered: what was said is known even when the next instruction never runs.
  const say = (more: Facts) => {
    facts = { ...facts, ...more }
    writeSync(1, `${JSON.stringify(more)}\n`)
  }
  tellHostSteps(steps)
  const life = await openLife(ground, {
    homeName,
    aheadMs: Number(facts['aheadMs'] ?? 0),
    wrapStore: (store) => steppedStore(store, steps),
    wrapBackend: (backend) => steppedBackend(backend, steps),
    ...(operation.countsRecovery === true ? { beforeRecovery: () => steps.arm(killAt) } : {}),
  })
  try {
    await operation.prepare?.(life, say, facts)
  } catch (error) {
    if (!isHoldfastError(error, 'capability_unsupported')) throw error
    say({ unsupported: error.message })
    process.kill(process.pid, 'SIGKILL')
  }
  if (operation.countsRecovery !== true) steps.arm(killAt)
  await operation.act(life, say, facts)
  // Otherwise it is written at an orderly exit, which there is none of here.
  flushCompileCache()
  writeSync(1, `${JSON.stringify({ steps: steps.told })}\n`)
  process.kill(process.pid, 'SIGKILL')
}

process.stdin.resume().once('end', () => process.kill(process.pid, 'SIGKILL'))
const [plan] = process.argv.slice(2)
if (plan === undefined) throw new Error('the plan is missing')
await live(JSON.parse(plan) as VictimPlan)
