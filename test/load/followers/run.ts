/**
 * `npm run test:long -- followers`: what 1,500 followers of events cost the commands of everybody.
 *
 * 30 keys in 3 tenants follow the events of their tenant, then those of one working session; in each tenant one caller runs short commands.
 * The median of a command must stay within three times of what it is without followers, and every follower must get every event.
 * `HOLDFAST_FOLLOWERS` (1500) and `HOLDFAST_FOLLOWERS_COMMANDS` (200 for each caller) choose other numbers.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { httpClient } from '../../../bench/http-client.ts'
import { withServer } from '../../../bench/server-process.ts'
import type { ServerProcess } from '../../../bench/server-process.ts'
import { cleanUp, cleanUpAbandoned } from '../../environment/clean-up.ts'
import { prepareMachine } from '../../environment/machine.ts'
import { createRunDirectory } from '../../environment/run-directory.ts'
import type { FollowersPlan } from './event-followers.ts'

const TENANTS = 3
const KEYS_PER_TENANT = 10
const MOST_TIMES = 3
const FOLLOWERS = Number(process.env['HOLDFAST_FOLLOWERS'] ?? 1_500)
const COMMANDS = Number(process.env['HOLDFAST_FOLLOWERS_COMMANDS'] ?? 200)
/** Until then every event must have reached every follower. */
const ARRIVAL_MS = 30_000

const say = (line: string) => void process.stdout.write(`${line}\n`)

interface Tenant {
  readonly keys: readonly string[]
  readonly session: string
}

await cleanUpAbandoned()
const directory = await createRunDirectory()
try {
  const [under] = await prepareMachine(directory, ['bubblewrap'])
  if (under === undefined || under.skipReason !== null) throw new Error(under?.skipReason ?? 'there is no bubblewrap')
  const settings = { HOLDFAST_LOG_LEVEL: 'warn' }
  const isGood = await withServer({ under, needs: { stateDir: directory } }, { settings, onLog: say }, measure)
  if (!isGood) process.exitCode = 1
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exitCode = 1
} finally {
  await cleanUp(directory)
}

async function measure(server: ServerProcess): Promise<boolean> {
  const tenants = await Promise.all(Array.from({ length: TENANTS }, (_, index) => makeTenant(server, `tenant-${index}`)))
  await medianOfCommands(server, tenants)
  let isGood = true
  for (const [what, pathOf] of [
    ['all events of their tenant', () => '/v1/events?after=now'],
    ['one working session', ({ session }: Tenant, after: number) => `/v1/sessions/${session}/events?after=${after}`],
  ] as const) {
    const alone = await medianOfCommands(server, tenants)
    // To send 1,500 followers what happened before would be another measurement.
    const seqsOpened = await lastSeqs(server, tenants)
    const followers = Array.from({ length: FOLLOWERS }, (_, index) => {
      const tenant = tenants[index % TENANTS]
      if (tenant === undefined) throw new Error('there is no tenant')
      return {
        key: tenant.keys[Math.floor(index / TENANTS) % KEYS_PER_TENANT] ?? '',
        path: pathOf(tenant, seqsOpened[index % TENANTS] ?? 0),
      }
    })
    const child = await openFollowers({ port: server.port, followers })
    try {
      const [seqsBefore, before] = [await lastSeqs(server, tenants), await countsWhenSteady(child)]
      const followed = await medianOfCommands(server, tenants)
      const { after, expected } = await countsWhenArrived(child, async () => {
        const seqs = await lastSeqs(server, tenants)
        return before.map((count, index) => count + (seqs[index % TENANTS] ?? 0) - (seqsBefore[index % TENANTS] ?? 0))
      })
      const wrong = after.findIndex((count, index) => count !== expected[index])
      const missing = after.filter((count, index) => count !== expected[index]).length
      const hasAll = missing === 0
      const times = followed / alone
      const isWell = times <= MOST_TIMES && hasAll
      isGood &&= isWell
      say(
        `${isWell ? '✓' : '✗'} ${FOLLOWERS} followers of ${what}: exec p50 ${alone.toFixed(1)} → ${followed.toFixed(1)} ms (${times.toFixed(1)} times); ` +
          (missing === 0
            ? 'each got every event'
            : `${missing} did not get every event, the first of them ${after[wrong]} instead of ${expected[wrong]}`),
      )
    } finally {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
  return isGood
}

async function makeTenant(server: ServerProcess, name: string): Promise<Tenant> {
  const platform = httpClient(server)
  try {
    const { id }: { readonly id: string } = JSON.parse(await platform.post('/v1/tenants', { name }))
    const keys: string[] = []
    for (let number = 0; number < KEYS_PER_TENANT; number += 1) {
      const body = { name: `key-${number}`, subject: `user-${number}`, role: 'tenant_admin' }
      const headers = { authorization: `Bearer ${server.key}`, 'x-holdfast-tenant': id, 'content-type': 'application/json' }
      const response = await fetch(`http://127.0.0.1:${server.port}/v1/keys`, { method: 'POST', headers, body: JSON.stringify(body) })
      const { key }: { readonly key: string } = JSON.parse(await response.text())
      keys.push(key)
    }
    const client = httpClient({ ...server, key: keys[0] ?? '' })
    const { id: session }: { readonly id: string } = JSON.parse(await client.post('/v1/sessions', { key: 'work', wait_ms: 60_000 }))
    client.close()
    return { keys, session }
  } finally {
    platform.close()
  }
}

/** One caller in each tenant, each with one command after the other. */
async function medianOfCommands(server: ServerProcess, tenants: readonly Tenant[]): Promise<number> {
  const times: number[] = []
  await Promise.all(
    tenants.map(async ({ keys, session }) => {
      const client = httpClient({ ...server, key: keys[0] ?? '' })
      for (let turn = 0; turn < COMMANDS; turn += 1) {
        const since = performance.now()
        await client.post('/v1/exec', { session_id: session, command: 'true' })
        times.push(performance.now() - since)
      }
      client.close()
    }),
  )
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0
}

async function openFollowers(plan: FollowersPlan): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'event-followers.ts'), ['follow'], { stdio: 'inherit' })
  child.send(plan)
  const ended = once(child, 'exit').then(() => {
    throw new Error('the followers ended early')
  })
  ended.catch(() => undefined)
  await Promise.race([once(child, 'message'), ended])
  return child
}

async function countsOf(child: ChildProcess): Promise<readonly number[]> {
  child.send('counts')
  const [answer]: { readonly counts: readonly number[] }[] = await once(child, 'message')
  return answer?.counts ?? []
}

/** How many events came on each connection, once no more come. */
async function countsWhenSteady(child: ChildProcess): Promise<readonly number[]> {
  let last = await countsOf(child)
  for (let waited = 0; waited < ARRIVAL_MS; waited += 2_000) {
    await delay(2_000)
    const next = await countsOf(child)
    if (next.every((count, index) => count === last[index])) return next
    last = next
  }
  return last
}

/** The same, once they are as expected or the time is over. What is expected is asked again: a session has events after its last command. */
async function countsWhenArrived(child: ChildProcess, expect: () => Promise<readonly number[]>) {
  for (const over = Date.now() + ARRIVAL_MS; ; await delay(500)) {
    const expected = await expect()
    const after = await countsOf(child)
    if (Date.now() >= over || after.every((count, index) => count === expected[index])) return { after, expected }
  }
}

/** The number of the last event of each tenant's session, once its commands have been recorded. */
async function lastSeqs(server: ServerProcess, tenants: readonly Tenant[]): Promise<readonly number[]> {
  await delay(1_000)
  return Promise.all(
    tenants.map(async ({ keys, session }) => {
      const client = httpClient({ ...server, key: keys[0] ?? '' })
      let after = 0
      for (let isMore = true; isMore;) {
        const page: { readonly items: readonly unknown[]; readonly after: number } = JSON.parse(
          await client.get(`/v1/sessions/${session}/events?after=${after}&page_size=200`),
        )
        after = page.after
        isMore = page.items.length > 0
      }
      client.close()
      return after
    }),
  )
}
