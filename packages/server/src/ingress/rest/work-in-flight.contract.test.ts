/** What one caller may have in flight at REST: the weight of bodies before they are parsed, and streams. */
import { expect, test } from 'vitest'
import { ByteContent } from './byte-content.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'

async function withLaboratory(
  environment: Readonly<Record<string, string>>,
  use: (laboratory: Laboratory) => Promise<void>,
): Promise<void> {
  const laboratory = await openLaboratory(environment)
  try {
    await use(laboratory)
  } finally {
    await laboratory.close()
  }
}

const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`=${at.toString(36)}`, 0]))

test('refuses a body that is nested too deep with 400 at every route', () =>
  withLaboratory({}, async ({ routes, send, entrance }) => {
    const body = `{"arguments":${'['.repeat(300_000)}${']'.repeat(300_000)}}`
    const withBody = routes.filter(({ method, body: sent }) => method !== 'GET' && !(sent instanceof ByteContent))
    expect(withBody.length).toBeGreaterThan(20)
    for (const { method, path } of withBody) {
      const answer = await send(path.replaceAll(/\{\w+\}/g, 'x'), { method, body })
      expect([path, answer.status, answer.body['code']]).toEqual([path, 400, 'invalid_request'])
    }
    expect(entrance.budget.inFlight.bytes).toBe(0)
  }))

test('counts the members of a body before anything looks at them', () =>
  withLaboratory({}, async ({ post, entrance }) => {
    for (const body of [{ labels: fields(60_000) }, { command: 'true', env: fields(60_000) }, fields(60_000)])
      expect(await post('/v1/sessions', body)).toMatchObject({ status: 413, body: { details: { limit_members: 10_000 } } })
    expect(entrance.budget.inFlight.bytes).toBe(0)
  }))

test('stops after a hundred problems', () =>
  withLaboratory({}, async ({ post }) => {
    const problemsOf = async (body: object) => {
      const { status, body: problem } = await post('/v1/exec', body)
      expect(status).toBe(400)
      return (problem['details'] as { problems: { field: string }[] }).problems
    }
    const wrong = await problemsOf({ command: 'true', env: fields(9_000) })
    expect(wrong).toHaveLength(100)
    expect(wrong[0]?.field).toBe('env.=0')
    expect(await problemsOf({ command: 'true', argv: Array.from({ length: 5_000 }, () => 7) })).toHaveLength(100)
    expect(await problemsOf(fields(9_000))).toHaveLength(100)
  }))

test('takes a large body that is right', () =>
  withLaboratory({}, async ({ post }) => {
    const argv = ['echo', ...Array.from({ length: 5_000 }, (_, at) => `${at}`)]
    expect(await post('/v1/exec', { session: 'a', cwd: '/', argv })).toMatchObject({ status: 200, body: { exit_code: 0 } })
  }))

test('refuses more weight than a caller may have with 429, and more than there is with 503', async () => {
  const body = { session: 'a', command: 'true', stdin: 'x'.repeat(600_000) }
  await withLaboratory({ HOLDFAST_IN_FLIGHT_BYTES_PER_CALLER: '512k' }, async ({ post, keyOf, entrance }) => {
    const refused = await post('/v1/exec', body)
    expect(refused).toMatchObject({ status: 429, body: { code: 'capacity_exhausted', details: { setting: 'in_flight.bytes_per_caller' } } })
    expect(refused.headers['retry-after']).toBe('1')
    const key = await keyOf({ subject: 'anna' })
    expect(await post('/v1/exec', { session: 'b', cwd: '/', command: 'true' }, { key })).toMatchObject({ status: 200 })
    expect(entrance.budget.inFlight.bytes).toBe(0)
  })
  await withLaboratory({ HOLDFAST_IN_FLIGHT_BYTES: '512k' }, async ({ post }) => {
    const refused = await post('/v1/exec', body)
    expect(refused).toMatchObject({ status: 503, body: { code: 'server_busy', details: { setting: 'in_flight.bytes' } } })
    expect(refused.headers['retry-after']).toBe('1')
    expect(await post('/v1/exec', { session: 'a', cwd: '/', command: 'true' })).toMatchObject({ status: 200 })
  })
})

test('bounds the open streams of a key and of a tenant, and nobody else is refused', () =>
  withLaboratory(
    { HOLDFAST_IN_FLIGHT_STREAMS_PER_KEY: '3', HOLDFAST_IN_FLIGHT_STREAMS_PER_TENANT: '5' },
    async ({ request, keyOf, entrance }) => {
      const opened: AbortController[] = []
      const follow = async (key: string) => {
        const leaving = new AbortController()
        opened.push(leaving)
        const response = await request('/v1/events', { key, headers: { accept: 'text/event-stream' }, signal: leaving.signal })
        if (response.status !== 200) return response.status
        void response.text().catch(() => undefined)
        return response.status
      }
      const [anna, ben] = [await keyOf({ subject: 'anna' }), await keyOf({ subject: 'ben' })]
      expect([await follow(anna), await follow(anna), await follow(anna), await follow(anna)]).toEqual([200, 200, 200, 429])
      expect([await follow(ben), await follow(ben), await follow(ben)]).toEqual([200, 200, 429])
      expect(entrance.budget.inFlight.streams).toBe(5)
      for (const leaving of opened) leaving.abort()
      await expect.poll(() => entrance.budget.inFlight.streams).toBe(0)
      expect(await follow(anna)).toBe(200)
      opened.at(-1)?.abort()
    },
  ))

test('does not start a command whose stream is refused', () =>
  withLaboratory({ HOLDFAST_IN_FLIGHT_STREAMS: '1' }, async ({ request, post, send }) => {
    const leaving = new AbortController()
    const followed = await request('/v1/events', { headers: { accept: 'text/event-stream' }, signal: leaving.signal })
    const { body } = await post('/v1/exec', { session: 'a', cwd: '/', command: 'true' })
    const refused = await post('/v1/exec', { session: 'a', cwd: '/', command: 'true' }, { headers: { accept: 'text/event-stream' } })
    expect(refused).toMatchObject({ status: 503, body: { code: 'server_busy', details: { setting: 'in_flight.streams' } } })
    const { id } = body['session'] as { id: string }
    expect((await send(`/v1/sessions/${id}/executions`)).body['items']).toHaveLength(1)
    leaving.abort()
    await followed.text().catch(() => undefined)
  }))
