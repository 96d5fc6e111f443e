/**
 * `npm run bench`: prepares the machine, runs the measures on each backend, and writes down what came out.
 *
 * Everything it starts lives in one run directory and ends with it, also on Ctrl-C.
 */
import { join } from 'node:path'
import { cleanUp, cleanUpAbandoned } from '../test/environment/clean-up.ts'
import { createRunDirectory } from '../test/environment/run-directory.ts'
import { bench } from './bench.ts'
import { parseOptions, USAGE, type BenchOptions } from './options.ts'
import { writeReadmeTable } from './readme-table.ts'
import { reportTable } from './report.ts'
import { readLatestResults, writeResults } from './results.ts'

const README = join(import.meta.dirname, '../README.md')

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** The exit code. */
async function main(options: BenchOptions): Promise<number> {
  if (options.isReadmeOnly) {
    say(writeReadmeTable(README, readLatestResults()))
    return 0
  }
  await cleanUpAbandoned()
  const directory = await createRunDirectory()
  const stopping = new AbortController()
  process.once('SIGINT', () => stopping.abort(new Error('stopped by Ctrl-C')))
  process.once('SIGTERM', () => stopping.abort(new Error('stopped by SIGTERM')))
  try {
    const results = await bench(options, directory, say, stopping.signal)
    const name = options.isWhole ? 'latest' : 'partial'
    writeResults(name, results)
    say('')
    say(reportTable(results))
    say(`written: bench/results/${name}.json and ${name}.svg`)
    if (options.isWhole) say(writeReadmeTable(README, results))
    const isMissed = results.figures.some(({ met }) => met === false)
    return isMissed && options.isStrict ? 1 : 0
  } catch (error) {
    // A child that was stopped only says that it was aborted.
    throw stopping.signal.aborted ? stopping.signal.reason : error
  } finally {
    await cleanUp(directory)
  }
}

try {
  const options = parseOptions(process.argv.slice(2))
  if (options === 'help') say(USAGE)
  else process.exitCode = await main(options)
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 2
}
