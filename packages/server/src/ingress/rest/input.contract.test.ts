/** What is done to an execution while it runs, over REST: input, signals, another size. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readEvents } from './contract/event-reader.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory, Sending } from './contract/laboratory.ts'

let laboratory: Laboratory
let ada: string
let session: string
beforeAll(async () => {
  laboratory = await openLaboratory()
  ada = await laboratory.keyOf({ subject: 'ada' })
  session = (await laboratory.post('/v1/sessions', { key: 'work', wait_ms: 9000 }, { key: ada })).field('id')
})
afterAll(() => laboratory.close())

const start = async (command: string, more: object = { interactive: true }) => {
  const started = await laboratory.post(`/v1/sessions/${session}/executions`, { command, cwd: '/', ...more }, { key: ada })
  expect(started.status).toBe(201)
  return String(started.body['execution_id'])
}
const path = (id: string) => `/v1/sessions/${session}/executions/${id}`
const to = (id: string, what: 'stdin' | 'signal' | 'resize', body: object, sending: Sending = {}) =>
  laboratory.post(`${path(id)}/${what}`, body, { key: ada, ...sending })
const stream = (id: string) => laboratory.request(`${path(id)}/output`, { key: ada, headers: { accept: 'text/event-stream' } })
/** All of it, to its end. */
const ended = async (id: string) => {
  const events = await readEvents(await stream(id))
  return {
    printed: events.flatMap(({ data }) => (typeof data['data'] === 'string' ? [data['data']] : [])).join(''),
    exit: events.at(-1)?.data,
  }
}
/** Reads until that was printed, and leaves. */
const prints = async (id: string, text: string) => {
  const reader = (await stream(id)).body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let all = ''; !all.includes(text);) {
    const { value } = (await reader?.read()) ?? {}
    if (value === undefined) throw new Error(`it ended without ${text}, but with ${all}`)
    all += value
  }
  await reader?.cancel()
}

describe('input', () => {
  test('reaches the program in its order, as text and as bytes, and its end is its end', async () => {
    const id = await start('cat')
    expect((await to(id, 'stdin', { data: 'grüße ' })).status).toBe(204)
    expect((await to(id, 'stdin', { data: Buffer.from('漢字\n').toString('base64'), encoding: 'base64' })).status).toBe(204)
    await prints(id, '漢字')
    expect((await to(id, 'stdin', { data: 'last', close: true })).status).toBe(204)
    expect(await ended(id)).toMatchObject({ printed: 'grüße 漢字\nlast', exit: { status: 'completed', exit_code: 0 } })
  })

  test('is whole when it is larger than any buffer on the way', async () => {
    const id = await start('sleep 0.2; wc -c')
    const data = 'x'.repeat(1_900_000)
    await Promise.all([to(id, 'stdin', { data }), to(id, 'stdin', { data }), to(id, 'stdin', { data })])
    await to(id, 'stdin', { close: true })
    expect((await ended(id)).printed.trim()).toBe('5700000')
  })

  test('is refused by what takes none, by what is closed, and by what is over', async () => {
    const plain = await start('sleep 600', {})
    expect(await to(plain, 'stdin', { data: 'x' })).toMatchObject({ status: 409, body: { code: 'not_interactive' } })
    const whole = await start('cat; sleep 600', { stdin: 'all of it' })
    expect(await to(whole, 'stdin', { data: 'x' })).toMatchObject({ status: 409, body: { code: 'not_interactive' } })
    const closed = await start('cat; sleep 600')
    await to(closed, 'stdin', { data: 'bye', close: true })
    expect(await to(closed, 'stdin', { data: 'x' })).toMatchObject({ status: 409, body: { code: 'not_interactive', title: /closed/ } })
    const over = await start('true')
    await ended(over)
    for (const [what, body] of [
      ['stdin', { data: 'x' }],
      ['signal', { signal: 'SIGINT' }],
      ['resize', { cols: 1, rows: 1 }],
    ] as const)
      expect(await to(over, what, body)).toMatchObject({ status: 409, body: { code: 'execution_ended' } })
    expect(await to('exe_none', 'stdin', { data: 'x' })).toMatchObject({ status: 404, body: { code: 'not_found' } })
    for (const id of [plain, whole, closed]) await laboratory.post(`${path(id)}/cancel`, { grace_ms: 0 }, { key: ada })
  })

  /** As in a pipe, what is written when the program dies goes nowhere; whoever comes later is told so. */
  const ENDED: readonly unknown[] = [undefined, 'execution_ended']
  /** More than half of what pipe and guest hold together: of two, the second waits. */
  const MUCH = 'x'.repeat(1_900_000)

  test('to a program that does not read waits, and ends when its caller leaves or the program ends', async () => {
    const id = await start('exec sleep 600')
    expect((await to(id, 'stdin', { data: MUCH })).status).toBe(204)
    const { sessions } = laboratory.plane
    const second = to(id, 'stdin', { data: MUCH })
    await expect.poll(() => sessions.attended).toBe(1)
    const leaving = new AbortController()
    const third = laboratory.request(`${path(id)}/stdin`, { method: 'POST', key: ada, body: { data: 'x' }, signal: leaving.signal })
    const fourth = to(id, 'stdin', { data: 'x' })
    await expect.poll(() => sessions.attended).toBe(3)
    // Everything else goes on meanwhile.
    expect((await to(id, 'signal', { signal: 'SIGURG' })).status).toBe(204)
    leaving.abort()
    expect((await third).status).toBe(499)
    expect(sessions.attended).toBe(2)
    await laboratory.post(`${path(id)}/cancel`, { grace_ms: 0 }, { key: ada })
    for (const waiting of [second, fourth]) expect(ENDED).toContain((await waiting).body['code'])
  })

  test('has few who wait for one program, and the others are told to come again', async () => {
    const id = await start('exec sleep 600')
    expect((await to(id, 'stdin', { data: MUCH })).status).toBe(204)
    const all = Array.from({ length: 12 }, () => to(id, 'stdin', { data: MUCH }))
    expect(await Promise.race(all)).toMatchObject({ status: 429, body: { code: 'capacity_exhausted' } })
    // One is being taken, eight wait.
    await expect.poll(() => laboratory.plane.sessions.attended).toBe(9)
    await laboratory.post(`${path(id)}/cancel`, { grace_ms: 0 }, { key: ada })
    const codes = (await Promise.all(all)).map(({ body }) => body['code']).filter((code) => !ENDED.includes(code))
    expect(codes).toEqual(['capacity_exhausted', 'capacity_exhausted', 'capacity_exhausted'])
  })

  test('that is sent again with the same Idempotency-Key arrives once', async () => {
    const id = await start('cat')
    for (let time = 0; time < 2; time += 1) await to(id, 'stdin', { data: 'once' }, { headers: { 'idempotency-key': `k-${id}` } })
    await to(id, 'stdin', { close: true })
    expect((await ended(id)).printed).toBe('once')
  })

  test('that is wrong is refused by its field', async () => {
    const id = await start('cat')
    expect(await to(id, 'stdin', { data: '%', encoding: 'base64' })).toMatchObject({ status: 400, body: { title: 'data: must be base64' } })
    expect(await to(id, 'stdin', { data: 'x', encoding: 'hex' })).toMatchObject({ status: 400 })
    expect(await to(id, 'stdin', { data: 'x', end: true })).toMatchObject({ status: 400, body: { title: 'end: is not a known field' } })
    await to(id, 'stdin', { close: true })
    const both = await laboratory.post(
      `/v1/sessions/${session}/executions`,
      { command: 'cat', stdin: 'x', interactive: true },
      { key: ada },
    )
    expect(both).toMatchObject({ status: 400, body: { title: expect.stringMatching(/^stdin: /) } })
  })

  test('is refused while an operator holds the session', async () => {
    const id = await start('cat')
    await laboratory.post(`/v1/sessions/${session}/hold`, {})
    expect(await to(id, 'stdin', { data: 'x' })).toMatchObject({ status: 409, body: { code: 'session_held' } })
    await laboratory.post(`/v1/sessions/${session}/unhold`, {})
    expect((await to(id, 'stdin', { close: true })).status).toBe(204)
  })
})

describe('a signal', () => {
  test('reaches the program alone, or everything that it started', async () => {
    const trap = (name: string) => `trap "echo ${name}; wait; exit 0" USR1; echo ${name} ready; while :; do sleep 0.01; done`
    const alone = await start(`(${trap('child')}) & ${trap('main').replace('wait; ', '')}`, {})
    await prints(alone, 'child ready')
    await prints(alone, 'main ready')
    expect((await to(alone, 'signal', { signal: 'SIGUSR1' })).status).toBe(204)
    expect((await ended(alone)).printed).not.toContain('child\n')
    const tree = await start(`(${trap('child')}) & ${trap('main')}`, {})
    await prints(tree, 'child ready')
    await prints(tree, 'main ready')
    expect((await to(tree, 'signal', { signal: 'SIGUSR1', scope: 'tree' })).status).toBe(204)
    expect((await ended(tree)).printed.split('\n')).toEqual(expect.arrayContaining(['child', 'main']))
    await laboratory.post(`/v1/sessions/${session}/cancel-work`, { grace_ms: 0 }, { key: ada })
  })

  test('that does not exist is refused', async () => {
    const id = await start('sleep 600', {})
    expect(await to(id, 'signal', { signal: 'SIGNONE' })).toMatchObject({ status: 400, body: { title: expect.stringMatching(/SIGNONE/) } })
    expect(await to(id, 'signal', { signal: 9 })).toMatchObject({ status: 400 })
    expect((await to(id, 'signal', { signal: 'SIGKILL' })).status).toBe(204)
    expect(await ended(id)).toMatchObject({ exit: { signal: 'SIGKILL', status: 'completed' } })
  })
})

describe('a terminal that was started over REST', () => {
  test('has its size, takes another, takes input, and its end of input is a character', async () => {
    const id = await start('stty -echo; echo ready; stty size; read line; echo "got $line"; stty size; cat', {
      terminal: { cols: 91, rows: 27 },
    })
    await prints(id, '27 91')
    expect((await to(id, 'resize', { cols: 12, rows: 5 })).status).toBe(204)
    await to(id, 'stdin', { data: 'hello\n' })
    await prints(id, '5 12')
    await to(id, 'stdin', { close: true })
    expect(await ended(id)).toMatchObject({ printed: 'ready\r\n27 91\r\ngot hello\r\n5 12\r\n', exit: { exit_code: 0 } })
  })

  test('what has none takes no size', async () => {
    const id = await start('cat')
    expect(await to(id, 'resize', { cols: 80, rows: 24 })).toMatchObject({ status: 409, body: { code: 'not_interactive' } })
    expect(await to(id, 'resize', { cols: 0, rows: 24 })).toMatchObject({ status: 400 })
    await to(id, 'stdin', { close: true })
  })
})
