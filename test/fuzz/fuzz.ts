/**
 * The whole of it: a real server in its own process on bubblewrap, requests made from the document that it serves, and what must be so at
 * the end: it lives, nothing is left over, the audit is whole.
 */
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { processesOf } from '../../packages/server/src/sandboxes/contract/traces.ts'
import { withServer } from '../../bench/server-process.ts'
import type { ServerPlace, ServerProcess } from '../../bench/server-process.ts'
import { residentBytes } from '../../bench/process-status.ts'
import { createSender } from './answer.ts'
import { fetchApiDocument } from './api-document.ts'
import { tryRequests } from './campaign.ts'
import type { CampaignOptions } from './campaign.ts'
import { createClients } from './clients.ts'
import { createJudge } from './judge.ts'
import { createTally } from './tally.ts'
import { createWorld } from './world.ts'

const ROOT = join(import.meta.dirname, '../..')
const LOG_LINES = 20
/** After so many, the memory is looked at. */
const SLICE = 1_000
const SETTLE_MS = 30_000

/** So that a fuzz needs few sandboxes, asks as quickly as it can, and reaches nobody. */
export const SETTINGS = {
  HOLDFAST_SESSIONS_MAX: '16',
  HOLDFAST_SESSIONS_WHEN_FULL: 'refuse',
  HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: 'none',
  HOLDFAST_RATE_LIMITS_FAILURES_PER_SECOND: 'none',
  HOLDFAST_WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8',
  HOLDFAST_LOG_LEVEL: 'warn',
  // With little room garbage is soon collected, so that what stays is what is kept; and what leaks soon has no room.
  NODE_OPTIONS: '--max-old-space-size=160',
}

export interface FuzzOptions extends CampaignOptions {
  /** Goes on after a wrong answer, and tells each kind of them at the end. */
  readonly isSurvey?: boolean
  /** Is told how it goes. */
  readonly onSlice?: (requests: number, residentBytes: number) => void
}

export interface FuzzReport {
  readonly lines: readonly string[]
  readonly neverDone: readonly string[]
  /** Resident bytes of the server after each thousand. */
  readonly memory: readonly number[]
}

/** Rejects with what went wrong first. */
export async function fuzz(place: ServerPlace, options: FuzzOptions): Promise<FuzzReport> {
  const recent: string[] = []
  const onLog = (line: string) => {
    if (line.includes('authentication-failed')) return
    recent.push(line)
    if (recent.length > LOG_LINES) recent.shift()
  }
  return withServer(place, { settings: SETTINGS, onLog }, (server) => fuzzServer(server, options, () => recent))
}

async function fuzzServer(server: ServerProcess, options: FuzzOptions, recentLog: () => readonly string[]): Promise<FuzzReport> {
  const { port, pid, home, key } = server
  const document = await fetchApiDocument(`http://127.0.0.1:${port}`)
  const sender = createSender(port)
  try {
    const clients = await createClients(sender, key)
    const world = createWorld(clients)
    const tally = createTally()
    const judge = createJudge(document, [ROOT, home])
    const survey = options.isSurvey === true ? new Map<string, string>() : null
    const needs = { port, document, sender, clients, world, judge, tally, recentLog, survey }
    const memory: number[] = []
    for (let done = 0; done < options.requests; done += SLICE) {
      const requests = Math.min(SLICE, options.requests - done)
      // Each slice is another run, so that what failed in it can be tried again without those before.
      await tryRequests(needs, { ...options, requests, seed: options.seed + done / SLICE })
      memory.push(residentBytes(pid))
      options.onSlice?.(done + requests, residentBytes(pid))
    }
    if (survey !== null && survey.size > 0) throw new Error([...survey].map(([kind, shown]) => `✗ ${kind}\n${shown}`).join('\n\n'))
    await world.endEverything()
    await nothingLeft(server)
    const { problems, items } = await clients.as('admin')('POST', '/v1/audit/verify')
    if (problems !== 0) throw new Error(`the audit does not verify: ${JSON.stringify(items)}`)
    // What can only be a WebSocket has no good answer here.
    const operations = document.operations.filter(({ answers }) => answers['426'] === undefined)
    return { lines: tally.lines(operations), neverDone: tally.neverDone(operations), memory }
  } finally {
    sender.close()
  }
}

/** Of its sandboxes only the server itself may still run. */
async function nothingLeft({ home, pid }: ServerProcess): Promise<void> {
  const deadline = performance.now() + SETTLE_MS
  for (;;) {
    const left = processesOf(basename(home)).filter((each) => each.pid !== pid)
    if (left.length === 0) return
    if (performance.now() > deadline) throw new Error(`left over: ${left.map(({ command }) => command.slice(0, 200)).join('\n')}`)
    await delay(100)
  }
}
