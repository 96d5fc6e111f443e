/**
 * What may not be left once everybody has gone: running work, open streams, descriptors, half-made files, sandboxes, holes in the audit.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { HttpClient } from '../../bench/http-client.ts'
import { surplus } from './observed-process.ts'
import type { ObservedProcess } from './observed-process.ts'

const SETTLE_MS = 60_000
const LOOK_EVERY_MS = 250
/** Descriptors that come and go by themselves: a connection to the database, one of this client. */
const SLACK = 4
const SHOWN = 10
const UNFINISHED = /never-whole|never-unpacked|\.holdfast/

type Fields = Readonly<Record<string, unknown>>

/** Resolves when no answer goes on any more and nothing runs but what is meant to. */
export async function settled(client: HttpClient, observed: ObservedProcess): Promise<void> {
  await untilEmpty(async () => [
    ...(await openStreams(client)),
    ...observed.sandboxProcesses().filter((command) => command.includes('sleep')),
  ])
}

/** In words, one each; nothing when all is well. Ends every session. */
export async function checkLeftovers(
  client: HttpClient,
  observed: ObservedProcess,
  before: ReadonlyMap<string, number>,
  sessionIds: readonly string[],
  say: (line: string) => void,
): Promise<readonly string[]> {
  const complaints: string[] = []
  const complain = (words: string) => {
    complaints.push(words)
    say(`✗ ${words}`)
  }
  const expectNone = async (what: string, look: () => Promise<readonly string[]>) => {
    const left = await untilEmpty(look)
    if (left.length === 0) say(`none left over: ${what}`)
    else complain(`${what}: ${left.slice(0, SHOWN).join('; ')}${left.length > SHOWN ? `; and ${left.length - SHOWN} more` : ''}`)
  }
  const total = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((sum, count) => sum + count, 0)
  await expectNone('running executions', () => running(client))
  await expectNone('open streams', () => openStreams(client))
  await expectNone('descriptors', async () => {
    const now = observed.descriptors()
    return total(now) <= total(before) + SLACK ? [] : surplus(before, now)
  })
  await expectNone('files that were never whole', () => unfinished(client, sessionIds))
  const { executions, endless } = await endsOf(client, sessionIds)
  if (endless.length > 0) complain(`executions without an end: ${endless.slice(0, SHOWN).join('; ')}`)
  else say(`${executions} executions have an end`)
  await endSessions(client)
  await expectNone('sandboxes and their processes', async () => observed.sandboxProcesses())
  const { problems, records } = fieldsOf(await client.post('/v1/audit/verify', {}))
  if (problems !== 0) complain(`the audit has ${String(problems)} problems`)
  else say(`${String(records)} records of the audit verify`)
  return complaints
}

/** What is still there at the end of our patience. */
async function untilEmpty(look: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const deadline = performance.now() + SETTLE_MS
  for (;;) {
    const left = await look()
    if (left.length === 0 || performance.now() > deadline) return left
    await delay(LOOK_EVERY_MS)
  }
}

async function openStreams(client: HttpClient): Promise<readonly string[]> {
  const lines = (await client.get('/metrics')).split('\n').filter((line) => line.startsWith('holdfast_http_streams_open'))
  return lines.filter((line) => !line.endsWith(' 0'))
}

/** Sessions in which something runs. */
async function running(client: HttpClient): Promise<readonly string[]> {
  const busy: string[] = []
  for await (const { id, running: count, state } of every(client, '/v1/sessions?state=pending,idle,active')) {
    if (Number(count) > 0) busy.push(`${String(id)} runs ${String(count)} (${String(state)})`)
  }
  return busy
}

async function unfinished(client: HttpClient, sessionIds: readonly string[]): Promise<readonly string[]> {
  const found: string[] = []
  for (const id of sessionIds) {
    const { items } = fieldsOf(await client.get(`/v1/sessions/${id}/files/list?path=/workspace`))
    for (const { path } of listOf(items)) if (UNFINISHED.test(String(path))) found.push(`${id} ${String(path)}`)
  }
  return found
}

async function endsOf(
  client: HttpClient,
  sessionIds: readonly string[],
): Promise<{ readonly executions: number; readonly endless: readonly string[] }> {
  let executions = 0
  const endless: string[] = []
  for (const sessionId of sessionIds) {
    for await (const { id, status, ended_at: endedAt } of every(client, `/v1/sessions/${sessionId}/executions?page_size=200`)) {
      executions += 1
      if (status === 'running' || endedAt === null) endless.push(String(id))
    }
  }
  return { executions, endless }
}

async function endSessions(client: HttpClient): Promise<void> {
  const ids: string[] = []
  for await (const { id } of every(client, '/v1/sessions?page_size=200&state=pending,idle,active,suspended')) ids.push(String(id))
  for (const id of ids) await client.post(`/v1/sessions/${id}/cancel`, {})
}

/** Each item of every page. */
async function* every(client: HttpClient, path: string): AsyncGenerator<Fields> {
  for (let token: string | null = null; ;) {
    const page = fieldsOf(await client.get(`${path}${token === null ? '' : `&page_token=${token}`}`))
    yield* listOf(page['items'])
    const next = page['next_page_token']
    if (typeof next !== 'string') return
    token = next
  }
}

function listOf(items: unknown): readonly Fields[] {
  return Array.isArray(items) ? items.filter((item): item is Fields => item !== null && typeof item === 'object') : []
}

function fieldsOf(text: string): Fields {
  const value: unknown = JSON.parse(text)
  if (value === null || typeof value !== 'object') throw new Error(`no object: ${text.slice(0, 100)}`)
  return { ...value }
}
