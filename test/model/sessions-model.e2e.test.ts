/** Sessions against a model of them: whatever happens, in whatever order, the server is where the model says. */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { quietTimers } from './model-time.ts'
import { checkSessions } from './property.ts'

const SEQUENCES = Number(process.env.HOLDFAST_MODEL_SEQUENCES ?? 25)
const SEED = Number(process.env.HOLDFAST_MODEL_SEED ?? 20_260_101)

describe('sessions', () => {
  let restoreTimers = () => {}
  beforeAll(() => {
    restoreTimers = quietTimers()
  })
  afterAll(() => restoreTimers())

  test(`are where the model says in all stories and after ${SEQUENCES} sequences of actions (seed ${SEED})`, { timeout: 1_800_000 }, () =>
    checkSessions({ sequences: SEQUENCES, seed: SEED, shrinks: true }),
  )
})
