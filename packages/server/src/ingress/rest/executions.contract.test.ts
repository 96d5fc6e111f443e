/** Executions over REST: started, read as pages and as a stream, cancelled. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ExecResult, ExecutionView } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'
import { readEvents } from './contract/event-reader.ts'

let laboratory: Laboratory
let ada: string
let session: string
beforeAll(async () => {
  laboratory = await openLaboratory()
  ada = await laboratory.keyOf({ subject: 'ada' })
  session = (await laboratory.post('/v1/sessions', { key: 'work', wait_ms: 9000 }, { key: ada })).field('id')
})
afterAll(() => laboratory.close())

const start = async (command: string, more: object = {}) => {
  const started = await laboratory.post(`/v1/sessions/${session}/executions`, { command, cwd: '/', ...more }, { key: ada })
  expect(started.status).toBe(201)
  const id = String(started.body['execution_id'])
  expect(started.headers['location']).toBe(`/v1/sessions/${session}/executions/${id}`)
  return id
}
const path = (id: string) => `/v1/sessions/${session}/executions/${id}`
const stream = (id: string, query = '', headers = {}) =>
  laboratory.request(`${path(id)}/output${query}`, { key: ada, headers: { accept: 'text/event-stream', ...headers } })
const untilEnded = async (id: string) => (await readEvents(await stream(id))).at(-1)

describe('an execution that is left to run', () => {
  test('is followed to its end: output with its place as id, then how it ended', async () => {
    const id = await start('printf out; printf err >&2; exit 3')
    const events = await readEvents(await stream(id))
    expect(events.at(-1)).toMatchObject({ event: 'exit', data: { id, status: 'completed', exit_code: 3, output_seq: 6 } })
    const printed = events.filter(({ event }) => event === 'stdout').map(({ data }) => data['data'])
    expect(printed.join('')).toBe('out')
    const pieces = events.filter(({ event }) => event !== 'exit')
    expect(pieces.map(({ id: cursor }) => Number(cursor))).toEqual(pieces.map(({ data }) => data['seq']))
    expect(await laboratory.send(path(id), { key: ada })).toMatchObject({ body: { status: 'completed', kind: 'command', actor: 'ada' } })
  })

  test('is read in pages, as text and byte for byte, and again from any place', async () => {
    const id = await start(String.raw`printf '\303\251\377abc'`)
    await untilEnded(id)
    const whole = await laboratory.send(`${path(id)}/output`, { key: ada })
    expect(whole.body).toEqual({
      items: [{ at: expect.any(String) as string, channel: 'stdout', data: 'é\uFFFDabc', seq: 6 }],
      skipped_bytes: 0,
      seq: 6,
      end_seq: 6,
    })
    const bytes: string[] = []
    for (let after = 0; after < 6;) {
      const page = await laboratory.send(`${path(id)}/output?after=${after}&limit_bytes=2&encoding=base64`, { key: ada })
      bytes.push(...(page.body['items'] as { data: string }[]).map(({ data }) => Buffer.from(data, 'base64').toString('hex')))
      after = Number(page.body['seq'])
    }
    expect(bytes.join('')).toBe('c3a9ff616263')
    const resumed = await readEvents(await stream(id, '', { 'last-event-id': '3' }))
    expect(resumed.map(({ event, data }) => [event, data['data']])).toEqual([
      ['stdout', 'abc'],
      ['exit', undefined],
    ])
  })

  test('is cancelled with all it started, and its stream says so', async () => {
    const id = await start('echo ready; sleep 600 & sleep 600')
    const following = await stream(id)
    const cancelled = await laboratory.post(`${path(id)}/cancel`, { grace_ms: 0 }, { key: ada })
    expect(cancelled).toMatchObject({ status: 200, body: { executions: 1, verified: true } })
    expect((await readEvents(following)).at(-1)).toMatchObject({ event: 'exit', data: { status: 'cancelled' } })
    expect(await laboratory.post(`${path(id)}/cancel`, {}, { key: ada })).toMatchObject({
      body: { executions: 0, killed: 0, verified: true },
    })
  })

  test('shows what it prints while somebody reads', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'holdfast-rest-')), 'go')
    // Commands are another user than the one who runs the tests.
    chmodSync(dirname(file), 0o755)
    const id = await start(`echo before; while [ ! -e '${file}' ]; do sleep 0.01; done; echo after`)
    const following = await stream(id)
    const reading = readEvents(following)
    await expect.poll(async () => (await laboratory.send(`${path(id)}/output`, { key: ada })).text).toContain('before')
    writeFileSync(file, '')
    const events = await reading
    expect(events.flatMap(({ data }) => (typeof data['data'] === 'string' ? [data['data']] : [])).join('')).toBe('before\nafter\n')
    expect(events.at(-1)).toMatchObject({ event: 'exit', data: { exit_code: 0 } })
    rmSync(dirname(file), { recursive: true })
  })

  test('goes on when its reader leaves', async () => {
    const id = await start('echo ready; sleep 600')
    const leaving = await stream(id)
    await readEvents(leaving, 1)
    expect(await laboratory.send(path(id), { key: ada })).toMatchObject({ body: { status: 'running' } })
    await laboratory.post(`${path(id)}/cancel`, { grace_ms: 0 }, { key: ada })
  })

  test('that is over is cancelled with what it left in the background, and the answer counts it', async () => {
    const run = async (command: string) =>
      ExecResult.parse((await laboratory.post('/v1/exec', { session_id: session, command, cwd: '/' }, { key: ada })).body)
    const leave = 'sleep 1000 > /dev/null 2>&1 &'
    const { execution_id: id } = await run(leave)
    expect(await laboratory.post(`${path(id)}/cancel`, {}, { key: ada })).toMatchObject({
      body: { executions: 0, killed: 1, verified: true },
    })
    expect(await laboratory.post(`${path(id)}/cancel`, {}, { key: ada })).toMatchObject({ body: { killed: 0, verified: true } })
    await run(leave)
    await run(leave)
    const work = await laboratory.post(`/v1/sessions/${session}/cancel-work`, {}, { key: ada })
    expect(work).toMatchObject({ status: 200, body: { executions: 0, killed: 2, verified: true } })
  })

  test('is ended by cancelling the work of the session, which lives on', async () => {
    const id = await start('sleep 600')
    const killed = await laboratory.post(`/v1/sessions/${session}/cancel-work`, { grace_ms: 0 }, { key: ada })
    expect(killed).toMatchObject({ status: 200, body: { executions: 1, verified: true } })
    expect(await laboratory.send(path(id), { key: ada })).toMatchObject({ body: { status: 'cancelled' } })
    expect(await laboratory.send(`/v1/sessions/${session}`, { key: ada })).toMatchObject({ body: { running: 0, close_reason: null } })
  })
})

test('executions are listed newest first, in pages', async () => {
  const first = await laboratory.send(`/v1/sessions/${session}/executions?page_size=2`, { key: ada })
  const rest = await laboratory.send(`/v1/sessions/${session}/executions?page_token=${first.field('next_page_token')}`, { key: ada })
  const all = await laboratory.send(`/v1/sessions/${session}/executions`, { key: ada })
  const views = ExecutionView.array().parse(all.body['items'])
  expect([...(first.body['items'] as unknown[]), ...(rest.body['items'] as unknown[])]).toEqual(views)
  expect(views.map(({ started_at: at }) => at)).toEqual(
    views
      .map(({ started_at: at }) => at)
      .toSorted()
      .toReversed(),
  )
})

test('what cannot be started says why, and an incarnation that is gone is named', async () => {
  const send = (body: object) => laboratory.post(`/v1/sessions/${session}/executions`, body, { key: ada })
  expect(await send({ argv: ['/no/such/program'], cwd: '/' })).toMatchObject({ status: 422, body: { code: 'command_not_started' } })
  expect(await send({ command: 'true', expected_incarnation: 9 })).toMatchObject({ status: 409, body: { code: 'incarnation_changed' } })
  expect(await send({})).toMatchObject({ status: 400, body: { title: expect.stringMatching(/command: give exactly one/) } })
  expect(await send({ command: 'true', name: 'x' })).toMatchObject({ status: 400, body: { title: 'name: is not a known field' } })
})
