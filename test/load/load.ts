/**
 * Many sessions that work without a pause, and rude clients among them, against a real server; then a look at what is left.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { httpClient } from '../../bench/http-client.ts'
import type { HttpClient } from '../../bench/http-client.ts'
import { withServer } from '../../bench/server-process.ts'
import type { ServerPlace, ServerProcess } from '../../bench/server-process.ts'
import { createLedger } from './ledger.ts'
import type { Figures, Ledger } from './ledger.ts'
import { checkLeftovers, settled } from './leftovers.ts'
import { observedProcess } from './observed-process.ts'
import type { LoadOptions } from './options.ts'
import { RUDE_CLIENTS, RUDE_GROUND } from './rude-clients.ts'
import type { RudeClient } from './rude-clients.ts'
import type { Deed } from './workload.ts'
import { workIn } from './workload.ts'

const TICK_MS = 30_000
const SAMPLE_MS = 2_000
/** Made at one time, while there is nothing else to do. */
const MADE_AT_ONCE = 8
/** Until then caches fill and code is made quick; a short run is warm after a third of it. */
const WARM_MS = 120_000
/** In less, a heap has not yet found its size. */
const STEADY_MINUTES = 5
/** Of the memory, from when it is warm to the end. */
const GROWTH_LIMIT = 1.25

export interface LoadReport {
  readonly minutes: number
  readonly sessions: number
  readonly deeds: Readonly<Record<Deed, Figures>>
  readonly perSecond: number
  readonly warmBytes: number
  readonly finalBytes: number
  readonly misdeeds: Readonly<Record<string, number>>
  /** What must not be, in words; empty when all is well. */
  readonly complaints: readonly string[]
}

/** `say` is told how it goes. */
export async function load(place: ServerPlace, options: LoadOptions, say: (line: string) => void): Promise<LoadReport> {
  const settings = {
    HOLDFAST_SESSIONS_MAX: String(Math.ceil(options.sessions) + 30),
    HOLDFAST_SESSIONS_TERMINAL_GRACE_SECONDS: '2',
    HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: 'none',
    HOLDFAST_LOG_LEVEL: 'warn',
  }
  const warnings = new Map<string, { readonly first: string; count: number }>()
  const onLog = (line: string) => {
    const event = /"event":"([\w-]+)"/.exec(line)?.[1]
    if (event === undefined) return
    const known = warnings.get(event) ?? { first: line, count: 0 }
    known.count += 1
    warnings.set(event, known)
  }
  const report = await withServer(place, { settings, onLog }, (server) => loadServer(server, options, say))
  for (const { first, count } of warnings.values()) say(`logged ${count} times: ${first}`)
  return report
}

async function loadServer(server: ServerProcess, options: LoadOptions, say: (line: string) => void): Promise<LoadReport> {
  const observed = observedProcess(server)
  const client = httpClient(server)
  const ledger = createLedger()
  try {
    const sessions = await makeSessions(client, Math.ceil(options.sessions))
    const rude = await makeSessions(client, RUDE_CLIENTS.length, 'rude')
    for (const id of rude) await client.post('/v1/exec', { session_id: id, command: RUDE_GROUND })
    say(`${sessions.length} sessions are ready, and ${rude.length} for rude clients`)
    await settled(client, observed)
    const before = observed.descriptors()

    const memory = await whileWorking(server, { sessions, rude }, options, ledger, () => observed.memoryBytes(), say)
    const complaints = [
      ...[...ledger.failures].map(([words, count]) => `failed ${count} times: ${words}`),
      ...(options.minutes < STEADY_MINUTES ? [] : grown(memory)),
      ...(await checkLeftovers(client, observed, before, [...sessions, ...rude], say)),
    ]
    const deeds = ledger.figures()
    const count = Object.values(deeds).reduce((sum, figures) => sum + figures.count, 0)
    return {
      ...{ minutes: options.minutes, sessions: sessions.length, deeds, complaints },
      perSecond: Math.round(count / (options.minutes * 60)),
      ...{ warmBytes: memory.warm, finalBytes: memory.final },
      misdeeds: Object.fromEntries(ledger.misdeeds),
    }
  } finally {
    client.close()
  }
}

async function makeSessions(client: HttpClient, count: number, word = 'work'): Promise<readonly string[]> {
  const ids: string[] = []
  for (let made = 0; made < count; made += MADE_AT_ONCE) {
    const keys = Array.from({ length: Math.min(MADE_AT_ONCE, count - made) }, (_, index) => `${word}-${made + index}`)
    const answers = await Promise.all(keys.map((key) => client.post('/v1/sessions', { key, wait_ms: 60_000 })))
    for (const answer of answers) ids.push(idOf(answer))
  }
  return ids
}

function idOf(answer: string): string {
  const session: unknown = JSON.parse(answer)
  if (session === null || typeof session !== 'object' || !('id' in session)) throw new Error(`no session: ${answer}`)
  return String(session.id)
}

interface Crowd {
  readonly sessions: readonly string[]
  readonly rude: readonly string[]
}

interface Memory {
  readonly warm: number
  readonly final: number
}

async function whileWorking(
  server: ServerProcess,
  { sessions, rude }: Crowd,
  { minutes }: LoadOptions,
  ledger: Ledger,
  memoryBytes: () => number,
  say: (line: string) => void,
): Promise<Memory> {
  const durationMs = minutes * 60_000
  const stopping = new AbortController()
  const { signal } = stopping
  const samples: { readonly atMs: number; readonly bytes: number }[] = []
  const startedAt = performance.now()
  const elapsed = () => performance.now() - startedAt
  const work = [
    ...sessions.map((id) => workIn(server, id, ledger, signal)),
    ...RUDE_CLIENTS.map((client, index) => beRude(server, rude[index] ?? '', client, ledger, signal)),
  ]
  const sampling = setInterval(() => samples.push({ atMs: elapsed(), bytes: memoryBytes() }), SAMPLE_MS)
  const telling = setInterval(() => say(lineOf(elapsed(), ledger, memoryBytes())), TICK_MS)
  await delay(durationMs)
  stopping.abort()
  clearInterval(sampling)
  clearInterval(telling)
  await Promise.all(work)
  say(lineOf(elapsed(), ledger, memoryBytes()))
  const warmAt = Math.min(WARM_MS, durationMs / 3)
  const around = (from: number, to: number) => medianOf(samples.filter(({ atMs }) => atMs >= from && atMs < to).map(({ bytes }) => bytes))
  const width = Math.max(4 * SAMPLE_MS, durationMs / 20)
  return { warm: around(warmAt, warmAt + width), final: around(durationMs - width, durationMs + 1) }
}

/** Until all is over, one misdeed after the other. */
async function beRude(server: ServerProcess, sessionId: string, rude: RudeClient, ledger: Ledger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await rude.misbehave(server, sessionId, signal)
      ledger.misbehaved(rude.name)
    } catch (error) {
      ledger.failed('stream', `one who ${rude.name}: ${String(error)}`)
    }
    await delay(1_000, undefined, { signal }).catch(() => undefined)
  }
}

function grown({ warm, final }: Memory): readonly string[] {
  if (final <= warm * GROWTH_LIMIT) return []
  return [`the memory grew from ${mebibytes(warm)} when it was warm to ${mebibytes(final)}`]
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

function lineOf(elapsedMs: number, ledger: Ledger, bytes: number): string {
  const { count, p50, p95, p99 } = ledger.sinceLast()
  const failures = [...ledger.failures.values()].reduce((sum, each) => sum + each, 0)
  const misdeeds = [...ledger.misdeeds.values()].reduce((sum, each) => sum + each, 0)
  return `${Math.round(elapsedMs / 1000)} s: ${count} commands, p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms; ${failures} failed; ${misdeeds} misdeeds; ${mebibytes(bytes)}`
}

export function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`
}
