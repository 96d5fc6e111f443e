/**
 * Every operation, cut short by `kill -9` at some of its steps: one test per operation on one backend and one store.
 *
 * `HOLDFAST_CHAOS_STEPS` says how many steps of each operation are tried (`all`, or a number), and `HOLDFAST_CHAOS_SEED` which;
 * `npm run test:long -- crashes` tries all of them. `HOLDFAST_CHAOS_OPERATIONS` names some of the operations, separated by commas; `HOLDFAST_CHAOS_VERBOSE`
 * shows their steps.
 */
import { expect, test } from 'vitest'
import { seededRandom } from '../../../packages/server/src/sandboxes/contract/seeded-random.ts'
import type { BackendUnderTest } from '../../environment/machine.ts'
import { MATRIX_NAMES, operationOf } from './all-operations.ts'
import type { Databases } from './databases.ts'
import { liveAndDie } from './deaths.ts'
import type { Death } from './deaths.ts'
import { onGround } from './ground.ts'
import { liveOn } from './next-life.ts'
import type { Facts } from './operation.ts'

const AT_ONCE = 3
/** Steps of each operation in `npm test`, beside its end. */
const SAMPLE = 1
const ASKED = process.env['HOLDFAST_CHAOS_STEPS']
const IS_VERBOSE = process.env['HOLDFAST_CHAOS_VERBOSE'] !== undefined
const SEED = process.env['HOLDFAST_CHAOS_SEED'] ?? 'holdfast'
const WANTED = (process.env['HOLDFAST_CHAOS_OPERATIONS'] ?? '').split(',').filter((name) => name !== '')

export interface Matrix {
  readonly under: BackendUnderTest
  databases(): Databases
  /** The program of the server that dies. */
  victim(): string
  /** Of four operations, those whose turn it is: some suites share them in `npm test`. */
  readonly turns: readonly number[]
  /** Whether servers can share the store. */
  readonly isShared: boolean
}

export function crashMatrix(matrix: Matrix): void {
  for (const name of MATRIX_NAMES.filter((each, index) => isTried(matrix, each, index))) {
    test(`${name}: killed at any step, all that was said holds and nothing leaks`, { timeout: 900_000 }, async ({ skip }) => {
      const whole = await dieAndCheck(matrix, name, null)
      const { facts, steps } = whole.death
      if (facts['unsupported'] !== undefined) skip(String(facts['unsupported']))
      expect(whole.problems, `${name}, killed at its end`).toEqual([])
      const failures = await killAtEach(matrix, name, steps ?? [])
      expect(failures.join('\n'), name).toBe('')
    })
  }
}

function isTried({ isShared, turns }: Matrix, name: string, index: number): boolean {
  if (operationOf(name).isShared === true && !isShared) return false
  if (WANTED.length > 0) return WANTED.includes(name)
  return ASKED !== undefined || turns.includes(index % 4)
}

async function killAtEach(matrix: Matrix, name: string, steps: readonly string[]): Promise<readonly string[]> {
  const failures: string[] = []
  const chosen = chosenSteps(matrix, name, steps)
  if (IS_VERBOSE)
    console.log(
      `${name}: ${steps.length} steps, ${chosen.length} kills\n${steps.map((step, index) => `  ${index + 1} ${step}`).join('\n')}`,
    )
  const worker = async () => {
    for (let killAt = chosen.shift(); killAt !== undefined; killAt = chosen.shift()) {
      const { problems } = await dieAndCheck(matrix, name, killAt)
      if (problems.length === 0) continue
      failures.push(`step ${killAt}, ${steps[killAt - 1]}: ${problems.join('\n    ')}`)
      if (IS_VERBOSE) console.log(`${name}: ${failures.at(-1)}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  if (IS_VERBOSE) console.log(`${name}: ${failures.length} kills failed`)
  return failures
}

/** Numbers of the steps to die at: other ones on each store. */
function chosenSteps({ isShared }: Matrix, name: string, steps: readonly string[]): number[] {
  const rest = steps.map((_, index) => index + 1)
  if (ASKED === 'all') return rest
  const size = ASKED === undefined ? SAMPLE : Number(ASKED)
  const random = seededRandom(`${SEED} ${isShared} ${name}`)
  while (rest.length > size) rest.splice(Math.floor(random() * rest.length), 1)
  return rest
}

function dieAndCheck(
  { under, databases, victim }: Matrix,
  name: string,
  killAt: number | null,
): Promise<{ readonly death: Death; readonly problems: readonly string[] }> {
  return onGround(under, databases(), async (ground) => {
    const operation = operationOf(name)
    const { after, homeName = 'home' } = operation
    let facts: Facts = {}
    if (after !== undefined)
      ({ facts } = await liveAndDie(victim(), {
        ground,
        operation: after.operation,
        homeName: after.homeName,
        killAt: after.killAt,
        facts,
      }))
    const death = await liveAndDie(victim(), { ground, operation: name, homeName, killAt, facts })
    const problems = [...(await liveOn({ ground, homeName, facts: death.facts, check: operation.check }))]
    if (after !== undefined && after.homeName !== homeName)
      problems.push(
        ...(await liveOn({ ground, homeName: after.homeName, facts: death.facts, isReplaced: true, check: () => Promise.resolve() })),
      )
    return { death, problems }
  })
}
