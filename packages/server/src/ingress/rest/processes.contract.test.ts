/** Named processes over REST: started, listed, found by name, talked to, ended whole. */
import { ProcessDetails, ProcessView } from '@holdfast/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertExecution } from '../../store/tables/executions.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'

let laboratory: Laboratory
let ada: string
let session: string
beforeAll(async () => {
  laboratory = await openLaboratory()
  ada = await laboratory.keyOf({ subject: 'ada' })
  session = (await laboratory.post('/v1/sessions', { key: 'work', wait_ms: 9000 }, { key: ada })).field('id')
})
afterAll(() => laboratory.close())

const processes = () => `/v1/sessions/${session}/processes`
const start = (name: string, command: string, more: object = {}) =>
  laboratory.post(processes(), { name, command, cwd: '/', ...more }, { key: ada })
const look = async (name: string) => ProcessDetails.parse((await laboratory.send(`${processes()}/${name}`, { key: ada })).body)
const stop = (name: string, query = '?grace_ms=0') => laboratory.send(`${processes()}/${name}${query}`, { method: 'DELETE', key: ada })

test('a process is started, found by its name, and shows what it has printed so far', async () => {
  const started = await start('web', 'echo hello; sleep 600')
  expect(started).toMatchObject({ status: 201, headers: { location: `${processes()}/web` } })
  expect(started.body).toMatchObject({ name: 'web', session_id: session, status: 'running', exit_code: null, ended_at: null })
  await expect.poll(() => look('web')).toMatchObject({ output_seq: 6 })
  const { execution_id: id } = await look('web')
  const execution = await laboratory.send(`/v1/sessions/${session}/executions/${id}`, { key: ada })
  expect(execution.body).toMatchObject({ kind: 'process', name: 'web', actor: 'ada' })
  expect(await stop('web')).toMatchObject({ status: 200, body: { executions: 1, verified: true } })
})

test('a name is taken while one runs, and free again afterwards; the newest of each name is listed', async () => {
  await start('one', 'sleep 600')
  expect(await start('one', 'true')).toMatchObject({ status: 409, body: { code: 'name_taken' } })
  await stop('one')
  await start('one', 'sleep 600')
  await start('two', 'sleep 600')
  const { body } = await laboratory.send(processes(), { key: ada })
  const items = ProcessView.array().parse(body['items'])
  expect(items.filter(({ name }) => name === 'one')).toMatchObject([{ status: 'running' }])
  expect(items.slice(0, 2).map(({ name }) => name)).toEqual(['two', 'one'])
  expect(items.map(({ name }) => name).toSorted()).toEqual([...new Set(items.map(({ name }) => name))].toSorted())
  await stop('one')
  await stop('two')
  expect(await look('two')).toMatchObject({ status: 'cancelled' })
})

test('ending one ends its whole tree and leaves the others', async () => {
  await start('kept', 'sleep 600')
  await start('doomed', `(trap '' HUP TERM; setsid sleep 632) & echo $!; wait`)
  expect(await stop('doomed', '?grace_ms=50')).toMatchObject({ status: 200, body: { executions: 1, verified: true } })
  expect(await look('doomed')).toMatchObject({ status: 'cancelled' })
  expect(await look('kept')).toMatchObject({ status: 'running' })
  // Ending it again changes nothing.
  expect(await stop('doomed')).toMatchObject({ status: 200, body: { executions: 0, killed: 0, verified: true } })
  await stop('kept')
})

test('an interactive one takes input through its execution', async () => {
  const { body } = await start('talker', 'cat', { interactive: true })
  const execution = `/v1/sessions/${session}/executions/${String(body['execution_id'])}`
  expect((await laboratory.post(`${execution}/stdin`, { data: 'hello', close: true }, { key: ada })).status).toBe(204)
  await expect.poll(() => look('talker')).toMatchObject({ status: 'completed', exit_code: 0, output_seq: 5 })
  expect((await laboratory.send(`${execution}/output`, { key: ada })).body).toMatchObject({ items: [{ data: 'hello' }] })
})

test('what it complained of is told to those who may read its output, and to nobody else', async () => {
  await start('angry', 'echo "a secret" >&2; echo out; exit 2')
  await expect.poll(() => look('angry')).toMatchObject({ status: 'completed', exit_code: 2, stderr_tail: 'a secret\n' })
  const viewer = await laboratory.keyOf({ subject: 'vera', role: 'viewer' })
  const seen = await laboratory.send(`${processes()}/angry`, { key: viewer })
  expect(seen).toMatchObject({ status: 200, body: { exit_code: 2, stderr_tail: null } })
  const { body } = await laboratory.send(processes(), { key: viewer })
  expect(JSON.stringify(body)).not.toContain('a secret')
})

test('work that is cancelled leaves processes, and a session with one does not become idle', async () => {
  await start('server', 'sleep 600')
  await laboratory.post(`/v1/sessions/${session}/cancel-work`, { grace_ms: 0 }, { key: ada })
  expect(await look('server')).toMatchObject({ status: 'running' })
  expect(await laboratory.send(`/v1/sessions/${session}`, { key: ada })).toMatchObject({ body: { state: 'active', running: 1 } })
  await stop('server')
})

test('what cannot be is refused by its field or its name', async () => {
  for (const name of ['', '-x', 'a b', 'a/b', 'x'.repeat(65), 'é'])
    expect(await start(name, 'true')).toMatchObject({ status: 400, body: { title: expect.stringMatching(/^name: must be 1 to 64/) } })
  expect(await start('x', 'true', { stdin: 'all' })).toMatchObject({ status: 400, body: { title: 'stdin: is not a known field' } })
  expect(await start('x', 'true', { argv: ['true'] })).toMatchObject({ status: 400 })
  expect(await laboratory.send(`${processes()}/never`, { key: ada })).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect(await stop('never')).toMatchObject({ status: 404 })
  expect(await stop('web', '?grace_ms=-1')).toMatchObject({ status: 400 })
})

test('a list of more than a thousand names says that it is truncated', async () => {
  const other = await laboratory.post('/v1/sessions', { key: 'many', wait_ms: 9000 }, { key: ada })
  const id = other.field('id')
  const row = await laboratory.store.read((sql) => sql.get('SELECT tenant_id FROM sessions WHERE id = ?', id))
  const tenantId = String(row?.['tenant_id'])
  const list = () => laboratory.send(`/v1/sessions/${id}/processes`, { key: ada })
  expect((await list()).body).toEqual({ items: [], truncated: false })
  await laboratory.store.write(async (transaction) => {
    for (let number = 0; number <= 1_000; number += 1)
      await insertExecution(transaction, {
        ...{ id: `exe_many${number}`, sessionId: id, tenantId, sandboxId: 'sbx_0000000000000000', incarnation: 1, kind: 'process' },
        ...{ name: `name-${number}`, actor: 'ada', timeoutMs: null, status: 'completed', exitCode: 0, signal: null, cancelAt: null },
        ...{ startedAt: number, endedAt: number + 1, durationMs: 1, outputSeq: 0 },
      })
  })
  const { body } = await list()
  expect(body['truncated']).toBe(true)
  expect(body['items']).toHaveLength(1_000)
})
