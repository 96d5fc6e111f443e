/**
 * `npm run test:long -- fuzz`: at least 10,000 requests made from the served document, against a real server on bubblewrap.
 *
 * `HOLDFAST_FUZZ_REQUESTS` (10000), `HOLDFAST_FUZZ_SEED` and `HOLDFAST_FUZZ_PATH` (of an earlier failure);
 * `HOLDFAST_FUZZ_SURVEY=1` goes on after a wrong answer and tells each kind of them at the end.
 */
import { cleanUp, cleanUpAbandoned } from '../environment/clean-up.ts'
import { prepareMachine } from '../environment/machine.ts'
import { createRunDirectory } from '../environment/run-directory.ts'
import { fuzz } from './fuzz.ts'

const { HOLDFAST_FUZZ_REQUESTS = '10000', HOLDFAST_FUZZ_SEED, HOLDFAST_FUZZ_PATH, HOLDFAST_FUZZ_SURVEY } = process.env
const requests = Number(HOLDFAST_FUZZ_REQUESTS)
const seed = HOLDFAST_FUZZ_SEED === undefined ? Date.now() % 1_000_000 : Number(HOLDFAST_FUZZ_SEED)
/** From the third thousand to the last: generous, because a heap grows before it is collected. */
const GROWTH_LIMIT = 1.5
const WARM = 2

const say = (line: string) => process.stdout.write(`${line}\n`)
const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`

await cleanUpAbandoned()
const directory = await createRunDirectory()
try {
  const [under] = await prepareMachine(directory, ['bubblewrap'])
  if (under === undefined || under.skipReason !== null) throw new Error(under?.skipReason ?? 'there is no bubblewrap')
  say(`${requests} requests from the served document, seed ${seed}`)
  const startedAt = performance.now()
  const { lines, memory } = await fuzz(
    { under, needs: { stateDir: directory } },
    {
      ...{ requests, seed, path: HOLDFAST_FUZZ_PATH, isSurvey: HOLDFAST_FUZZ_SURVEY === '1' },
      onSlice: (done, bytes) => say(`${done} requests; the server keeps ${mebibytes(bytes)}`),
    },
  )
  for (const line of lines) say(line)
  const [warm = Infinity] = memory.slice(WARM)
  if ((memory.at(-1) ?? 0) > warm * GROWTH_LIMIT) throw new Error('the server keeps more and more memory')
  say(`all as the document says, in ${Math.round((performance.now() - startedAt) / 1000)} s`)
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
} finally {
  await cleanUp(directory)
}
