/**
 * Callers run short commands while the database fails, round after round; then no record may say `running`, without a restart of the server.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { withServer } from '../../../bench/server-process.ts'
import type { ServerProcess } from '../../../bench/server-process.ts'
import type { BackendUnderTest } from '../../environment/machine.ts'
import type { FaultySubject } from './faulty-subject.ts'

const CALLERS = 8
/** The promise: after so long everything that ended is stored. */
const STORED_WITHIN_MS = 10_000
/** For a machine that does other things as well; a round that needs it fails, with its figure. */
const PATIENCE_MS = 60_000
const ANSWER_MS = 120_000

export interface FaultReport {
  readonly subject: string
  readonly fault: string
  readonly rounds: number
  readonly commands: number
  /** Answers that were errors of the store, or that never came. */
  readonly refused: number
  /** The longest time, in ms, from the end of the fault until no record said `running`. */
  readonly slowestMs: number
  readonly stillRunning: number
  /** Records whose end is not the one that their caller was given. */
  readonly wrong: number
  /** Commands whose caller has an answer and that have no record: a PostgreSQL that is killed may lose its last commits. */
  readonly missing: number
}

export interface CampaignOptions {
  readonly under: BackendUnderTest
  readonly stateDir: string
  /** At most so many rounds of each fault. */
  readonly rounds?: number
  readonly say: (line: string) => void
}

export async function runCampaign(
  subject: FaultySubject,
  { under, stateDir, rounds, say }: CampaignOptions,
): Promise<readonly FaultReport[]> {
  const settings = { ...subject.settings, HOLDFAST_LOG_LEVEL: 'warn', HOLDFAST_LIMITS_MEMORY: '64MiB', HOLDFAST_SESSIONS_MAX: '20' }
  return withServer({ under, needs: { stateDir: subject.stateDir ?? stateDir } }, { settings }, async (server) => {
    subject.useHome(server.home)
    const reports: FaultReport[] = []
    for (const [fault, { rounds: planned, inflict }] of Object.entries(subject.faults)) {
      const total = { commands: 0, refused: 0, slowestMs: 0, stillRunning: 0, wrong: 0, missing: 0 }
      const wanted = Math.min(planned, rounds ?? planned)
      for (let round = 0; round < wanted; round += 1) {
        const callers = startCallers(server)
        await callers.working
        await inflict(round)
        const healedAt = performance.now()
        const { commands, refused, ends } = await callers.stop()
        const { running, wrong, missing } = await settled(subject, ends)
        for (const line of [...wrong, ...missing]) say(`${subject.name} ${fault}: ${line}`)
        const tookMs = Math.round(performance.now() - healedAt)
        total.commands += commands
        total.refused += refused
        total.slowestMs = Math.max(total.slowestMs, tookMs)
        total.stillRunning += running
        total.wrong += wrong.length
        total.missing += missing.length
        say(`${subject.name} ${fault} ${round + 1}/${wanted}: ${commands} commands, ${refused} refused, all stored after ${tookMs} ms`)
      }
      reports.push({ subject: subject.name, fault, rounds: wanted, ...total })
    }
    return reports
  })
}

/** What is not as promised, in words. */
export function complaintsOf(reports: readonly FaultReport[]): readonly string[] {
  return reports.flatMap(({ subject, fault, stillRunning, wrong, missing, commands, slowestMs }) => [
    ...(stillRunning === 0 ? [] : [`${subject} ${fault}: ${stillRunning} records say running for something that ended`]),
    ...(wrong === 0 ? [] : [`${subject} ${fault}: ${wrong} records have another end than their caller was given`]),
    ...(missing === 0 || fault === 'killed -9' ? [] : [`${subject} ${fault}: ${missing} commands have no record`]),
    ...(commands > 0 ? [] : [`${subject} ${fault}: no command ran`]),
    ...(slowestMs <= STORED_WITHIN_MS + CALLERS_END_MS ? [] : [`${subject} ${fault}: it took ${slowestMs} ms until all ends were stored`]),
  ])
}

/** Callers that wait for an answer when the fault ends have theirs first; a silent connection may be waited for. */
const CALLERS_END_MS = 40_000

interface GivenEnd {
  readonly status: string
  readonly exitCode: number | null
}

function startCallers(server: ServerProcess) {
  const ends = new Map<string, GivenEnd>()
  let commands = 0
  let refused = 0
  const over = new AbortController()
  const working = Promise.withResolvers<void>()

  async function call(caller: number): Promise<void> {
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const exitCode = turn % 7
      const command = `echo ${caller}.${turn}; exit ${exitCode}`
      try {
        const answer = await post(server, turn % 4 === 3 ? 'detached' : 'attended', `chaos-${caller}`, command)
        commands += 1
        if (commands === CALLERS) working.resolve()
        if (answer !== null) ends.set(answer.id, answer)
      } catch {
        refused += 1
        await delay(100)
      }
    }
  }
  const all = Array.from({ length: CALLERS }, (_, caller) => call(caller))
  return {
    /** They have sessions, and some commands have ended. */
    working: working.promise,
    async stop() {
      over.abort()
      await Promise.all(all)
      return { commands, refused, ends }
    },
  }
}

const sessionIds = new Map<string, string>()

async function post(server: ServerProcess, how: 'attended' | 'detached', key: string, command: string) {
  const known = sessionIds.get(`${server.home} ${key}`)
  if (how === 'detached' && known !== undefined) {
    await request(server, `/v1/sessions/${known}/executions`, { command, timeout_ms: 20_000 })
    return null
  }
  const answer = await request(server, '/v1/exec', { session: key, command, timeout_ms: 20_000 })
  const {
    execution_id: id,
    status,
    exit_code: exitCode,
    session,
  } = answer as {
    readonly execution_id: string
    readonly status: string
    readonly exit_code: number | null
    readonly session: { readonly id: string }
  }
  sessionIds.set(`${server.home} ${key}`, session.id)
  return { id, status, exitCode }
}

async function request({ port, key }: ServerProcess, path: string, body: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  const answer: unknown = await response.json()
  if (!response.ok) throw new Error(`${response.status}`)
  return answer
}

/** Waits until no record says `running`, for as long as it is patient; then compares the ends. */
async function settled(subject: FaultySubject, ends: ReadonlyMap<string, GivenEnd>) {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    const records = await subject.records()
    const running = records.filter(({ status }) => status === 'running')
    if (running.length === 0 || performance.now() >= until) {
      const byId = new Map(records.map((record) => [record.id, record]))
      const missing = [...ends.keys()].filter((id) => !byId.has(id)).map((id) => `${id} has no record`)
      const wrong = [...ends].flatMap(([id, { status, exitCode }]) => {
        const record = byId.get(id)
        if (record === undefined || (record.status === status && record.exitCode === exitCode)) return []
        return [`${id} ended with ${status} ${exitCode} and is recorded as ${record.status} ${record.exitCode}`]
      })
      return { running: running.length, wrong, missing }
    }
    await delay(100)
  }
}
