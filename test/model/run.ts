/**
 * Runs the property without a test runner: for long runs, and for trees in which a guard was taken out.
 *
 * `HOLDFAST_MODEL_SEQUENCES` (2000), `HOLDFAST_MODEL_SEED` and `HOLDFAST_MODEL_PATH` (of an earlier failure), `HOLDFAST_MODEL_SHRINK=0`.
 */
import { quietTimers } from './model-time.ts'
import { checkSessions } from './property.ts'

const { HOLDFAST_MODEL_SEQUENCES = '2000', HOLDFAST_MODEL_SEED, HOLDFAST_MODEL_PATH, HOLDFAST_MODEL_SHRINK } = process.env
const seed = HOLDFAST_MODEL_SEED === undefined ? Date.now() % 1_000_000 : Number(HOLDFAST_MODEL_SEED)
const sequences = Number(HOLDFAST_MODEL_SEQUENCES)

const startedAt = performance.now()
process.stdout.write(`all stories and ${sequences} sequences of actions on sessions, seed ${seed}\n`)
// So that what ends with this process does end.
process.once('SIGTERM', () => process.exit(1))
process.once('SIGINT', () => process.exit(1))
quietTimers()
// The server's own timers keep no process alive, and a sequence may wait for nothing else.
setInterval(() => undefined, 1000)
try {
  await checkSessions({ sequences, seed, path: HOLDFAST_MODEL_PATH, shrinks: HOLDFAST_MODEL_SHRINK !== '0' })
  process.stdout.write(`all as the model says, in ${Math.round((performance.now() - startedAt) / 1000)} s\n`)
} catch (error) {
  const cause = error instanceof Error && error.cause instanceof Error ? (error.cause.stack ?? '') : ''
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n${cause}\n`)
  process.exitCode = 1
}
process.exit()
