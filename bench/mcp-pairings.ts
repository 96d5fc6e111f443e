/**
 * For a look by hand: one call of a trivial tool through the gateway and over a pipe, with each pairing of client and server.
 *
 *     node bench/mcp-pairings.ts bubblewrap 2000 abc [directory for profiles of the server]
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BACKEND_KINDS } from '../packages/server/src/sandboxes/backend.ts'
import { cleanUp } from '../test/environment/clean-up.ts'
import { prepareMachine } from '../test/environment/machine.ts'
import { createRunDirectory } from '../test/environment/run-directory.ts'
import { interleave, timed } from './interleave.ts'
import { officialOnHost, officialThroughGateway, plainOnHost, plainThroughGateway } from './mcp-client.ts'
import { withMcpServer } from './mcp-ground.ts'
import { nodeProgram } from './mcp-program.ts'
import { median, quantile } from './statistics.ts'

const OFFICIAL = [officialOnHost, officialThroughGateway] as const
const PLAIN = [plainOnHost, plainThroughGateway] as const
const PAIRINGS = [
  { title: 'a: official client, official server', source: 'mcp-echo.ts', clients: OFFICIAL },
  { title: 'b: official client, plain server   ', source: 'mcp-echo-plain.ts', clients: OFFICIAL },
  { title: 'c: plain client, plain server      ', source: 'mcp-echo-plain.ts', clients: PLAIN },
] as const

/** Processor time: unlike the clock on the wall, hardly changed by what else the machine does. */
function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}

const [kind = 'bubblewrap', runs = '2000', only = 'abc', profiles] = process.argv.slice(2)
const directory = await createRunDirectory()
try {
  const stateDir = join(directory, 'state')
  mkdirSync(stateDir, { mode: 0o700 })
  const [under] = await prepareMachine(
    directory,
    BACKEND_KINDS.filter((each) => each === kind),
  )
  if (under === undefined || under.skipReason !== null) throw new Error(`${kind} is not here: ${under?.skipReason ?? ''}`)
  for (const { title, source, clients } of PAIRINGS.filter(({ title: [letter = ''] }) => only.includes(letter))) {
    const options = profiles === undefined ? {} : { settings: { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` } }
    await withMcpServer({ under, needs: { stateDir } }, { make: nodeProgram(source), options }, async ({ program, address, serverPid }) => {
      const [onHost, through] = [await clients[0](program), await clients[1](address)]
      const warmUp = Math.min(Number(runs), 500)
      for (let run = 0; run < warmUp; run += 1) await Promise.all([onHost.echo('hello'), through.echo('hello')])
      const before = mainThreadMs(serverPid)
      const { reference, subject } = await interleave(
        { runs: Number(runs), blockRuns: 100 },
        () => timed(() => onHost.echo('hello')),
        () => timed(() => through.echo('hello')),
      )
      const busy = Math.round(((mainThreadMs(serverPid) - before) / subject.length) * 1_000)
      await Promise.all([onHost.close(), through.close()])
      const p50 = median(subject) / median(reference)
      const microseconds = [...[reference, subject].flatMap((taken) => [median(taken), quantile(taken, 0.95)])].map((ms) =>
        Math.round(ms * 1_000),
      )
      const [host50, host95, gateway50, gateway95] = microseconds
      process.stdout.write(
        `${kind} ${title}: ${p50.toFixed(2)}×  host ${host50}/${host95} µs, gateway ${gateway50}/${gateway95} µs (p50/p95), processor of the server ${busy} µs\n`,
      )
    })
  }
} finally {
  await cleanUp(directory)
}
