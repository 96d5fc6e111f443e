/**
 * `npm run test:long -- load`: 100 sessions × continuous commands for ten minutes, with rude clients among them.
 *
 * `HOLDFAST_LOAD_MINUTES` (10) and `HOLDFAST_LOAD_SESSIONS` (100) choose others; `--json` prints the results as JSON, and all else on stderr.
 */
import { cleanUp, cleanUpAbandoned } from '../environment/clean-up.ts'
import { prepareMachine } from '../environment/machine.ts'
import { createRunDirectory } from '../environment/run-directory.ts'
import { load, mebibytes } from './load.ts'
import type { LoadReport } from './load.ts'
import { loadOptions } from './options.ts'

function table({ deeds, minutes, sessions, perSecond, warmBytes, finalBytes, misdeeds, complaints }: LoadReport): string {
  const row = (...cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [
    `${sessions} sessions for ${minutes} minutes: ${perSecond} requests answered per second; memory ${mebibytes(warmBytes)} when warm, ${mebibytes(finalBytes)} at the end`,
    '',
    row('what', 'times', 'p50 ms', 'p95 ms', 'p99 ms', 'most ms'),
    row('---', '---', '---', '---', '---', '---'),
    ...Object.entries(deeds).map(([deed, { count, p50, p95, p99, most }]) => row(deed, count, p50, p95, p99, most)),
    '',
    row('rude client', 'times'),
    row('---', '---'),
    ...Object.entries(misdeeds).map(([name, count]) => row(name, count)),
    '',
    ...(complaints.length === 0 ? ['no error, and nothing left over'] : complaints.map((complaint) => `✗ ${complaint}`)),
  ].join('\n')
}

const options = loadOptions(process.argv.slice(2), process.env)
const progress = options.isJson ? process.stderr : process.stdout
const say = (line: string) => void progress.write(`${line}\n`)

await cleanUpAbandoned()
const directory = await createRunDirectory()
try {
  const [under] = await prepareMachine(directory, ['bubblewrap'])
  if (under === undefined || under.skipReason !== null) throw new Error(under?.skipReason ?? 'there is no bubblewrap')
  const report = await load({ under, needs: { stateDir: directory } }, options, say)
  process.stdout.write(`${options.isJson ? JSON.stringify(report, null, 2) : table(report)}\n`)
  if (report.complaints.length > 0) process.exitCode = 1
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exitCode = 1
} finally {
  await cleanUp(directory)
}
