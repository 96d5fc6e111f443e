/** What many sessions cost those who use few: looking at them, and having them around. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Measured } from '../figure.ts'
import type { Ground } from '../ground.ts'
import { httpClient } from '../http-client.ts'
import type { HttpClient } from '../http-client.ts'
import { interleave, timed } from '../interleave.ts'
import { fillWithSessions } from '../many-rows.ts'
import type { Measure } from '../measure.ts'
import { processorSeconds } from '../process-status.ts'
import { withServer } from '../server-process.ts'
import { median } from '../statistics.ts'

const FEW = 100
const BLOCK_RUNS = 20
const NO_LIMITS = { HOLDFAST_LIMITS_CPUS: 'none', HOLDFAST_LIMITS_MEMORY: 'none', HOLDFAST_LIMITS_PIDS: 'none' }

export const manySessions: Measure = {
  name: 'many-sessions',
  doing: 'lists and looks among many sessions, and many sandboxes that do nothing',
  async run(ground) {
    const looks = await lookingAmong(ground, 10_000)
    // An engine makes a thousand containers in minutes, and its own daemon is what they cost.
    return ground.kind === 'bubblewrap' ? [...looks, await idling(ground)] : looks
  },
}

interface Filled {
  readonly client: HttpClient
  readonly id: string
}

async function withFilled<T>(ground: Ground, count: number, work: (filled: Filled) => Promise<T>): Promise<T> {
  let id = ''
  const prepare = async (home: string) => void (id = await fillWithSessions(home, count))
  return withServer(ground.place, { prepare }, async (server) => {
    const client = httpClient(server)
    try {
      return await work({ client, id })
    } finally {
      client.close()
    }
  })
}

function lookingAmong(ground: Ground, many: number): Promise<readonly Measured[]> {
  const turns = { runs: ground.pick({ full: 600, quick: 40 }), blockRuns: BLOCK_RUNS }
  return withFilled(ground, FEW, (few) =>
    withFilled(ground, many, async (more) => {
      const compared = async (look: (filled: Filled) => Promise<unknown>): Promise<Omit<Measured, 'id' | 'title'>> => {
        const samples = await interleave(
          turns,
          () => timed(() => look(few)),
          () => timed(() => look(more)),
        )
        return {
          value: median(samples.subject),
          unit: 'ms',
          samples: samples.subject.length,
          reference: { title: `among ${FEW}, p50`, value: median(samples.reference) },
          bar: { of: 'ratio', at: 'most', limit: 1.5 },
        }
      }
      const listed = await compared(({ client }) => client.get('/v1/sessions?page_size=50'))
      const got = await compared(({ client, id }) => client.get(`/v1/sessions/${id}`))
      const among = `among ${many.toLocaleString('en-US')}, p50`
      return [
        { ...listed, id: 'list-many', title: `list 50 sessions ${among}` },
        { ...got, id: 'get-many', title: `get a session ${among}` },
      ]
    }),
  )
}

async function idling(ground: Ground): Promise<Measured> {
  const count = ground.pick({ full: 1_000, quick: 20 })
  const windowMs = ground.pick({ full: 20_000, quick: 2_000 })
  const settings = { ...NO_LIMITS, HOLDFAST_SESSIONS_MAX: String(count), HOLDFAST_SESSIONS_IDLE_SECONDS: '3600' }
  const percent = await withServer(ground.place, { settings }, async (server) => {
    const client = httpClient(server)
    try {
      const alone = await processorShare(server.pid, windowMs)
      const places = Array.from({ length: count }, (_, place) => place)
      const worker = async () => {
        for (let place = places.pop(); place !== undefined; place = places.pop())
          await client.post('/v1/sessions', { key: `idle-${place}`, wait_ms: 60_000 })
      }
      await Promise.all(Array.from({ length: 4 }, worker))
      await delay(windowMs / 4)
      return Math.max(0, (await processorShare(server.pid, windowMs)) - alone) * 100
    } finally {
      client.close()
    }
  })
  return {
    id: 'idle-thousand',
    title: `processor that ${count.toLocaleString('en-US')} idle sessions add`,
    value: percent,
    unit: '%',
    samples: 1,
    reference: null,
    bar: { of: 'value', at: 'most', limit: 2 },
  }
}

/** Of one processor, while the time passes. */
async function processorShare(pid: number, windowMs: number): Promise<number> {
  const before = processorSeconds(pid)
  const startedAt = performance.now()
  await delay(windowMs)
  return ((processorSeconds(pid) - before) * 1_000) / (performance.now() - startedAt)
}
