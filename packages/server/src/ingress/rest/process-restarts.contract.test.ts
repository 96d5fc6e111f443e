/** Processes that are started again over REST: by their rules, counted, told of, and over when somebody says so. */
import { AuditPage, ProcessDetails } from '@holdfast/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { untilHolds } from '../../../../../test/servers/eventually.ts'
import { listRestarts } from '../../store/tables/process-restarts.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'

let laboratory: Laboratory
let ada: string
let session: string
beforeAll(async () => {
  laboratory = await openLaboratory({ HOLDFAST_SESSIONS_MAX_EXECUTIONS: '6' })
  ada = await laboratory.keyOf({ subject: 'ada' })
  session = await newSession('work')
})
afterAll(() => laboratory.close())

const newSession = async (key: string) => (await laboratory.post('/v1/sessions', { key, wait_ms: 9000 }, { key: ada })).field('id')
const processes = (id = session) => `/v1/sessions/${id}/processes`
const QUICK = { policy: 'on-failure', backoff_ms: 100 }
const start = (name: string, command: string, restart: object = QUICK, id = session) =>
  laboratory.post(processes(id), { name, command, cwd: '/', restart }, { key: ada })
const look = async (name: string, id = session) =>
  ProcessDetails.parse((await laboratory.send(`${processes(id)}/${name}`, { key: ada })).body)
const stop = (name: string) => laboratory.send(`${processes()}/${name}?grace_ms=0`, { method: 'DELETE', key: ada })
/** By then whatever waited as long would have been started. */
async function untilAnotherRestarts(): Promise<void> {
  await start('other', 'exit 1', { ...QUICK, max_restarts: 2 })
  await untilHolds(async () => expect(await look('other')).toMatchObject({ restarts: 2, status: 'completed' }))
}

test('one that fails is started again as another execution of its name, counted and audited as the server’s own', async () => {
  const begun = await start('web', 'echo "try" >&2; exit 3')
  expect(begun).toMatchObject({
    status: 201,
    body: { restart: { policy: 'on-failure', max_restarts: null, backoff_ms: 100 }, restarts: 0 },
  })
  await untilHolds(async () => expect((await look('web')).restarts).toBeGreaterThanOrEqual(2))
  await stop('web')
  const { restarts, execution_id: newest } = await look('web')
  expect(newest).not.toBe(begun.field('execution_id'))
  const { items } = AuditPage.parse((await laboratory.send(`/v1/audit?session=${session}&page_size=200`, { key: ada })).body)
  const starts = items.filter(({ action }) => action === 'execution.start')
  expect(starts.filter(({ actor }) => actor.subject === 'ada')).toHaveLength(1)
  expect(starts.filter(({ actor }) => actor.type === 'system')).toHaveLength(restarts)
})

test('the pause before the next start is told, and grows', async () => {
  await start('slow', 'exit 1', { policy: 'always', backoff_ms: 30_000 })
  await untilHolds(async () => expect((await look('slow')).status).toBe('completed'))
  const { ended_at: endedAt, next_start_at: next, restarts } = await look('slow')
  expect(restarts).toBe(0)
  expect(Date.parse(next ?? '') - Date.parse(endedAt ?? '')).toBe(30_000)
  const { body } = await laboratory.send(processes(), { key: ada })
  expect(body['items']).toContainEqual(expect.objectContaining({ name: 'slow', next_start_at: next }))
  await start('growing', 'exit 1')
  await untilHolds(async () => {
    const grown = await look('growing')
    expect(grown).toMatchObject({ restarts: 2, status: 'completed' })
    expect(Date.parse(grown.next_start_at ?? '') - Date.parse(grown.ended_at ?? '')).toBe(400)
  })
  await stop('growing')
  await stop('slow')
})

test('success is success, unless it is to run always', async () => {
  await start('once', 'exit 0')
  await start('again', 'exit 0', { policy: 'always', backoff_ms: 100 })
  await untilHolds(async () => expect((await look('again')).restarts).toBeGreaterThanOrEqual(2))
  expect(await look('once')).toMatchObject({ status: 'completed', exit_code: 0, restarts: 0, next_start_at: null })
  await stop('again')
})

test('a signal from outside is no stop: it is started again', async () => {
  const { body } = await start('killed', 'exec sleep 600')
  await laboratory.post(`/v1/sessions/${session}/executions/${String(body['execution_id'])}/signal`, { signal: 'SIGKILL' }, { key: ada })
  await untilHolds(async () => expect(await look('killed')).toMatchObject({ restarts: 1, status: 'running' }))
  await stop('killed')
})

test('it is started no more often than it may be', async () => {
  await start('thrice', 'exit 1', { ...QUICK, max_restarts: 3 })
  await untilHolds(async () => expect(await look('thrice')).toMatchObject({ restarts: 3, status: 'completed', next_start_at: null }))
  await untilAnotherRestarts()
  expect(await look('thrice')).toMatchObject({ restarts: 3, restart: { max_restarts: 3 } })
})

test('whoever stops it ends it for good, while it runs or while it waits, by its name or by its execution', async () => {
  await start('running', 'exec sleep 600', { policy: 'always', backoff_ms: 100 })
  expect(await stop('running')).toMatchObject({ status: 200, body: { executions: 1, verified: true } })
  await start('waiting', 'exit 1', { policy: 'always', backoff_ms: 300 })
  await untilHolds(async () => expect((await look('waiting')).next_start_at).not.toBeNull())
  const before = await look('waiting')
  await stop('waiting')
  const { body } = await start('cancelled', 'exec sleep 600', { policy: 'always', backoff_ms: 100 })
  const execution = `/v1/sessions/${session}/executions/${String(body['execution_id'])}`
  await laboratory.post(`${execution}/cancel`, { grace_ms: 0 }, { key: ada })
  await untilAnotherRestarts()
  expect(await look('running')).toMatchObject({ status: 'cancelled', restarts: 0, next_start_at: null })
  const after = await look('waiting')
  expect(after).toMatchObject({ next_start_at: null, restarts: before.restarts })
  expect(await look('cancelled')).toMatchObject({ status: 'cancelled', restarts: 0, next_start_at: null })
})

test('work that is cancelled with its processes calls off what waits to be started', async () => {
  const id = await newSession('called-off')
  await start('waiting', 'exit 1', { policy: 'always', backoff_ms: 30_000 }, id)
  await untilHolds(async () => expect((await look('waiting', id)).next_start_at).not.toBeNull())
  await laboratory.post(`/v1/sessions/${id}/cancel-work`, { grace_ms: 0 }, { key: ada })
  expect((await look('waiting', id)).next_start_at).not.toBeNull()
  await laboratory.post(`/v1/sessions/${id}/cancel-work`, { processes: true, grace_ms: 0 }, { key: ada })
  expect(await look('waiting', id)).toMatchObject({ restarts: 0, next_start_at: null })
})

test('of one that fails on and on the newest executions are remembered, with what they printed', async () => {
  const id = await newSession('failing')
  await start('loop', 'head -c 20000 /dev/zero; exit 1', { policy: 'always', backoff_ms: 100, max_restarts: 24 }, id)
  await untilHolds(async () => {
    // The pauses grow; here they do not.
    await laboratory.store.write((transaction) => transaction.run('UPDATE process_restarts SET in_a_row = 0 WHERE session_id = ?', id))
    expect((await look('loop', id)).restarts).toBe(24)
  })
  await untilHolds(async () => expect((await look('loop', id)).status).toBe('completed'))
  const { body } = await laboratory.send(`/v1/sessions/${id}/executions?page_size=200`, { key: ada })
  expect(body['items']).toHaveLength(20)
})

test('a new start of its name takes the place of the old rules, with and without its own', async () => {
  await start('renewed', 'exit 1', { policy: 'always', backoff_ms: 30_000 })
  await untilHolds(async () => expect((await look('renewed')).next_start_at).not.toBeNull())
  const again = await laboratory.post(processes(), { name: 'renewed', command: 'exit 1', cwd: '/' }, { key: ada })
  expect(again).toMatchObject({ status: 201, body: { restart: null, restarts: 0 } })
  await untilHolds(async () => expect((await look('renewed')).status).toBe('completed'))
  expect(await look('renewed')).toMatchObject({ restart: null, next_start_at: null })
})

test('one that could not be started at all is its caller’s to try again', async () => {
  const wish = { name: 'none', argv: ['/no/such/program'], cwd: '/', restart: { policy: 'always', backoff_ms: 100 } }
  expect(await laboratory.post(processes(), wish, { key: ada })).toMatchObject({ body: { code: 'command_not_started' } })
  await untilAnotherRestarts()
  expect(await look('none')).toMatchObject({ status: 'not_started', restarts: 0, next_start_at: null })
})

test('the end of its session is its end, and what it was is forgotten', async () => {
  const id = await newSession('short')
  await start('web', 'exit 1', { policy: 'always', backoff_ms: 200 }, id)
  await untilHolds(async () => expect((await look('web', id)).status).toBe('completed'))
  await laboratory.post(`/v1/sessions/${id}/release`, {}, { key: ada })
  expect((await look('web', id)).next_start_at).toBeNull()
  await untilHolds(async () => {
    const kept = await laboratory.store.read((sql) => listRestarts(sql, id))
    expect(kept).toMatchObject([{ name: 'web', command: null }])
  })
})

test('a session that was suspended on request is left alone until somebody resumes it', async () => {
  const id = await newSession('paused')
  await start('web', 'exit 1', { policy: 'always', backoff_ms: 1_000 }, id)
  await untilHolds(async () => expect((await look('web', id)).status).toBe('completed'))
  await laboratory.post(`/v1/sessions/${id}/suspend`, {}, { key: ada })
  await untilAnotherRestarts()
  await expect.poll(async () => Date.parse((await look('web', id)).next_start_at ?? '') < Date.now()).toBe(true)
  expect(await laboratory.send(`/v1/sessions/${id}`, { key: ada })).toMatchObject({ body: { state: 'suspended' } })
  await laboratory.post(`/v1/sessions/${id}/resume`, {}, { key: ada })
  await untilHolds(async () => expect((await look('web', id)).restarts).toBeGreaterThan(0))
  await laboratory.post(`/v1/sessions/${id}/cancel`, {}, { key: ada })
})

test('a session whose sandbox is lost gets another one for it', async () => {
  const id = await newSession('lost')
  await start('web', 'exec sleep 600', QUICK, id)
  const { body } = await laboratory.send('/v1/sandboxes', { key: ada })
  const sandbox = (body['items'] as { id: string; sessions: string[] }[]).find(({ sessions }) => sessions.includes(id))
  await laboratory.backend.destroy(sandbox?.id ?? '')
  await untilHolds(async () => expect(await look('web', id)).toMatchObject({ status: 'running', restarts: 1 }))
  await laboratory.post(`/v1/sessions/${id}/cancel`, {}, { key: ada })
})

test('commands that wait in the store are sealed', async () => {
  await start('secret', 'echo a-secret-of-adas; exit 1', { policy: 'always', backoff_ms: 30_000 })
  const rows = await laboratory.store.read((sql) => listRestarts(sql, session))
  const { command } = rows.find(({ name }) => name === 'secret') ?? {}
  expect(command?.length).toBeGreaterThan(20)
  expect(Buffer.from(command ?? []).includes('a-secret-of-adas')).toBe(false)
  await stop('secret')
  expect((await laboratory.store.read((sql) => listRestarts(sql, session))).every((row) => row.command === null)).toBe(true)
})

test('only so many of a session are kept', async () => {
  const id = await newSession('many')
  const many = { policy: 'always', backoff_ms: 30_000 }
  for (let number = 0; number < 6; number += 1) {
    expect((await start(`p${number}`, 'exit 1', many, id)).status).toBe(201)
    await untilHolds(async () => expect((await look(`p${number}`, id)).status).toBe('completed'))
  }
  expect(await start('one-more', 'exit 1', many, id)).toMatchObject({ status: 429, body: { code: 'quota_exceeded' } })
  expect((await laboratory.send(`${processes(id)}/one-more`, { key: ada })).status).toBe(404)
  await laboratory.post(`/v1/sessions/${id}/cancel`, {}, { key: ada })
})

test('rules that cannot be are refused by their field', async () => {
  for (const [restart, title] of [
    [{ policy: 'maybe' }, /^restart\.policy: must be "no", "on-failure" or "always"/],
    [{}, /^restart\.policy: must be/],
    [{ policy: 'always', max_restarts: -1 }, /^restart\.max_restarts: must be a whole number from 0/],
    [{ policy: 'always', backoff_ms: 99 }, /^restart\.backoff_ms: must be a whole number of milliseconds from 100 to 30000/],
    [{ policy: 'always', backoff_ms: 30_001 }, /^restart\.backoff_ms: must be/],
    [{ policy: 'always', tries: 3 }, /^restart\.tries: is not a known field/],
  ] as const)
    expect(await start('wrong', 'true', restart)).toMatchObject({ status: 400, body: { title: expect.stringMatching(title) } })
})
