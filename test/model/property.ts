/**
 * The property: whatever happens to sessions, in whatever order, the server is where the model says.
 */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe } from './actions.ts'
import type { Action } from './actions.ts'
import { settled } from './choosing.ts'
import { DIRECTED_STORIES } from './directed/stories.ts'
import { checkAudit, closeAndCheckLeftovers } from './final-checks.ts'
import { checkLedger } from './ledger.ts'
import { interpret } from './model.ts'
import { seenInModel, seenInSystem } from './observe.ts'
import { perform } from './perform.ts'
import { PATIENCE_MS, settle } from './settle.ts'
import { sequence } from './stories.ts'
import { openSystem } from './system.ts'
import type { System } from './system.ts'
import { newWorld } from './world.ts'
import type { World } from './world.ts'

/** The directed stories come first, whatever the seed. */
export interface PropertyOptions {
  readonly sequences: number
  readonly seed: number | undefined
  /** Of fast-check, to go on from a counterexample. */
  readonly path?: string | undefined
  /** Looks for a smaller counterexample once one is found. */
  readonly shrinks: boolean
}

/** One sequence in so many keeps its store in a file. */
const IN_FILE_EVERY = 8

/** Rejects with the story that failed, or with the seed and the smallest sequence that was found to fail. */
export async function checkSessions(options: PropertyOptions): Promise<void> {
  for (const [index, [name, { actions, onStop }]] of Object.entries(DIRECTED_STORIES).entries())
    try {
      await runSequence(actions, onStop, index % IN_FILE_EVERY === 0)
    } catch (cause) {
      throw new Error(`the story fails in which ${name}`, { cause })
    }
  if (options.sequences > 0) await checkSequences(options)
}

async function checkSequences({ sequences, seed, path, shrinks }: PropertyOptions): Promise<void> {
  let count = 0
  const property = fc.asyncProperty(sequence, fc.boolean(), async (parts, suspends) => {
    count += 1
    await runSequence(parts.flat(), suspends ? 'suspend' : 'keep', count % IN_FILE_EVERY === 0)
  })
  await fc.assert(property, {
    numRuns: sequences,
    endOnFailure: !shrinks,
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path }),
  })
}

async function runSequence(actions: readonly Action[], onStop: World['onStop'], isInFile: boolean): Promise<void> {
  const system = await openSystem(onStop, isInFile)
  try {
    let world = newWorld(system.time.now, onStop)
    for (const next of actions) world = await step(system, world, next)
    await checkLedger(system, world)
    await checkAudit(system)
    await closeAndCheckLeftovers(system, world)
  } finally {
    await system.end()
  }
}

async function step(system: System, before: World, wished: Action): Promise<World> {
  const next = settled(before, wished)
  if (next === null) return before
  const possible = interpret(untouched(before), next)
  const answer = await inTime(perform(system, before, next), describe(next))
  await settle(system)
  const seen = await seenInSystem(system)
  const matching = possible.find((each) => each.answer === answer && isDeepStrictEqual(seenInModel(each.world), seen))
  if (matching !== undefined) return matching.world
  throw new Error(
    [
      `after ${describe(next)}`,
      `answered: ${answer}; possible: ${possible.map((each) => each.answer).join(' | ')}`,
      `seen:     ${JSON.stringify(seen)}`,
      ...possible.map((each) => `possible: ${JSON.stringify(seenInModel(each.world))}`),
      ...system.logged.slice(-5),
    ].join('\n'),
  )
}

function untouched(world: World): World {
  return { ...world, sessions: world.sessions.map((session) => ({ ...session, isTouched: false })) }
}

async function inTime<T>(answer: Promise<T>, asked: string): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`nobody answers ${asked}`)), PATIENCE_MS)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
