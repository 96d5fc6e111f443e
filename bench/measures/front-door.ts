/** What a caller of the API waits for: over loopback, with a key, recorded in SQLite; against the same spawned on the host. */
import { httpClient } from '../http-client.ts'
import type { HttpClient } from '../http-client.ts'
import { interleave, timed } from '../interleave.ts'
import type { Measured } from '../figure.ts'
import type { Ground } from '../ground.ts'
import type { Measure } from '../measure.ts'
import { spawnOnHost } from '../reference.ts'
import { withServer } from '../server-process.ts'
import { median, quantile } from '../statistics.ts'
import { EIGHT, ratePerSecond } from './throughput.ts'

const COMMAND = ['sh', '-c', 'true'] as const
const EXEC = { session: 'warm', argv: COMMAND }
const PRINT = { session: 'warm', argv: ['echo', 'first'] }
const BLOCK_RUNS = 20
/** What is measured is Holdfast and not a quota. */
const UNBOUND = { HOLDFAST_LIMITS_CPUS: 'none' }

export const frontDoor: Measure = {
  name: 'front-door',
  doing: 'POST /v1/exec and POST /v1/sessions over loopback',
  run: (ground) =>
    withServer(ground.place, { settings: UNBOUND }, async (server) => {
      const client = httpClient(server)
      try {
        await client.post('/v1/exec', EXEC)
        return [...(await execLatency(ground, client)), ...(await others(ground, client)), await throughput(ground, client)]
      } finally {
        client.close()
      }
    }),
}

async function against(ground: Ground, subject: () => Promise<number>) {
  const turns = { runs: ground.pick({ full: 1_000, quick: 60 }), blockRuns: BLOCK_RUNS }
  const samples = await interleave(turns, () => timed(() => spawnOnHost(COMMAND)), subject)
  const reference = { title: 'spawn on the host, p50', value: median(samples.reference) }
  return { subject: samples.subject, common: { unit: 'ms', samples: samples.subject.length, reference } as const }
}

async function execLatency(ground: Ground, client: HttpClient): Promise<readonly Measured[]> {
  const { subject, common } = await against(ground, () => timed(() => client.post('/v1/exec', EXEC)))
  return [
    { ...common, id: 'exec-p50', title: '`POST /v1/exec`, p50', value: median(subject), bar: atMost(1) },
    { ...common, id: 'exec-p95', title: '`POST /v1/exec`, p95', value: quantile(subject, 0.95), bar: atMost(2) },
  ]
}

async function others(ground: Ground, client: HttpClient): Promise<readonly Measured[]> {
  const found = await against(ground, () => timed(() => client.post('/v1/sessions', { key: 'warm' })))
  const first = await against(ground, () => client.untilEvent('/v1/exec', PRINT, 'stdout'))
  return [
    { ...found.common, id: 'get-or-create', title: 'get-or-create of a live session, p50', value: median(found.subject), bar: atMost(0.3) },
    { ...first.common, id: 'first-byte', title: 'first byte of a streamed command, p50', value: median(first.subject), bar: atMost(1.2) },
  ]
}

async function throughput(ground: Ground, client: HttpClient): Promise<Measured> {
  const host = EIGHT.map(() => () => spawnOnHost(COMMAND))
  const callers = EIGHT.map((place) => async () => void (await client.post('/v1/exec', { session: `parallel-${place}`, argv: COMMAND })))
  await Promise.all(callers.map((call) => call()))
  const windowMs = ground.pick({ full: 1_000, quick: 300 })
  const samples = await interleave(
    { runs: ground.pick({ full: 12, quick: 3 }), blockRuns: 1 },
    () => ratePerSecond(host, windowMs),
    () => ratePerSecond(callers, windowMs),
  )
  return {
    id: 'exec-throughput',
    title: '`POST /v1/exec` of 8 callers, 8 sessions',
    value: median(samples.subject),
    unit: 'commands/s',
    samples: samples.subject.length,
    reference: { title: '8 spawners on the host', value: median(samples.reference) },
    bar: { of: 'ratio', at: 'least', limit: 1.5 },
  }
}

function atMost(limit: number) {
  return { of: 'ratio', at: 'most', limit } as const
}
