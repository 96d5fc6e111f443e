/**
 * A busy server killed at moments that come from a seed, which is part of each test's name.
 *
 * `HOLDFAST_CHAOS_SEED` sets another seed, `HOLDFAST_CHAOS_KILLS` a longer run.
 */
import { test, expect } from 'vitest'
import { seededRandom } from '../../../packages/server/src/sandboxes/contract/seeded-random.ts'
import type { Matrix } from './crash-matrix.ts'
import { liveAndDie } from './deaths.ts'
import { onGround } from './ground.ts'
import { LOAD_OPERATIONS } from './load-operation.ts'
import { liveOn } from './next-life.ts'

const SEED = process.env['HOLDFAST_CHAOS_SEED'] ?? 'holdfast'
const KILLS = Number(process.env['HOLDFAST_CHAOS_KILLS'] ?? 2)
const LONGEST_LIFE_MS = 2_500

export function randomKills({ under, databases, victim }: Pick<Matrix, 'under' | 'databases' | 'victim'>): void {
  const kills = Array.from({ length: KILLS }, (_, kill) => `${SEED} ${kill + 1}`)
  test.for(kills)('a busy server killed at a moment of the seed %s', async (seed) => {
    const lifeMs = seededRandom(seed)() * LONGEST_LIFE_MS
    const problems = await onGround(under, databases(), async (ground) => {
      const plan = { ground, operation: 'load', homeName: 'home', killAt: null, facts: { seed } }
      const { facts } = await liveAndDie(victim(), plan, lifeMs)
      return liveOn({ ground, homeName: 'home', facts, check: LOAD_OPERATIONS.load.check })
    })
    expect(problems, `killed after ${Math.round(lifeMs)} ms`).toEqual([])
  })
}
