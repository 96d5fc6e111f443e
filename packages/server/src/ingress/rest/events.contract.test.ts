/** Events over REST: pages and streams of a session and of a tenant, and what happens when some are gone. */
import { SessionEvent } from '@holdfast/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteEventsBefore } from '../../store/tables/events.ts'
import { readEvents } from './contract/event-reader.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'

const STREAM = { accept: 'text/event-stream' }

let laboratory: Laboratory
let ada: string
let session: string
beforeAll(async () => {
  laboratory = await openLaboratory()
  ada = await laboratory.keyOf({ subject: 'ada' })
  session = (await laboratory.post('/v1/sessions', { key: 'watched', wait_ms: 9000 }, { key: ada })).field('id')
})
afterAll(() => laboratory.close())

const relabel = (label: string) => laboratory.send(`/v1/sessions/${session}`, { method: 'PATCH', body: { labels: { label } }, key: ada })
const seqs = (items: unknown) =>
  SessionEvent.array()
    .parse(items)
    .map(({ seq }) => seq)

test('a session’s events come in pages after a cursor, without gaps', async () => {
  await relabel('a')
  const all = await laboratory.send(`/v1/sessions/${session}/events`, { key: ada })
  const [last = 0] = seqs(all.body['items']).slice(-1)
  expect(seqs(all.body['items'])).toEqual(Array.from({ length: last }, (_, index) => index + 1))
  expect(all.body['after']).toBe(last)
  const page = await laboratory.send(`/v1/sessions/${session}/events?after=1&page_size=2`, { key: ada })
  expect(seqs(page.body['items'])).toEqual([2, 3])
  const none = await laboratory.send(`/v1/sessions/${session}/events?after=${last}`, { key: ada })
  expect(none.body).toEqual({ items: [], after: last })
})

test('a stream gives what was, then what comes; Last-Event-ID goes on where a reader left', async () => {
  const first = await laboratory.request(`/v1/sessions/${session}/events`, { key: ada, headers: STREAM })
  expect(first.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const [created] = await readEvents(first, 1)
  expect(created).toMatchObject({ id: '1', event: 'session.created', data: { session_id: session, seq: 1 } })
  const seq = Number((await laboratory.send(`/v1/sessions/${session}`, { key: ada })).body['event_seq'])
  const headers = { ...STREAM, 'last-event-id': String(seq) }
  const following = await laboratory.request(`/v1/sessions/${session}/events`, { key: ada, headers })
  const next = readEvents(following, 2)
  await relabel('b')
  await relabel('c')
  expect((await next).map(({ id, event }) => [id, event])).toEqual([
    [`${seq + 1}`, 'session.updated'],
    [`${seq + 2}`, 'session.updated'],
  ])
})

test('a tenant’s events are followed by id, from the oldest, after one, or from now on', async () => {
  const oldest = await laboratory.send('/v1/events?page_size=2', { key: ada })
  const rest = await laboratory.send(`/v1/events?after=${oldest.field('after')}`, { key: ada })
  const all = await laboratory.send('/v1/events', { key: ada })
  expect([...(oldest.body['items'] as unknown[]), ...(rest.body['items'] as unknown[])]).toEqual(all.body['items'])
  const live = await laboratory.request('/v1/events?after=now', { key: ada, headers: STREAM })
  const next = readEvents(live, 1)
  await relabel('d')
  expect((await next)[0]).toMatchObject({ event: 'session.updated', id: expect.stringMatching(/^evt_/) })
  expect(await laboratory.send('/v1/events?after=yesterday', { key: ada })).toMatchObject({ status: 400 })
})

test('a stream ends when its reader leaves', async () => {
  const leaving = new AbortController()
  const stream = await laboratory.request('/v1/events?after=now', { key: ada, headers: STREAM, signal: leaving.signal })
  const events = readEvents(stream)
  leaving.abort()
  expect(await events).toEqual([])
})

test('events that are gone are 410 with the number to go on from, as a page and as a stream', async () => {
  await laboratory.store.write((transaction) => deleteEventsBefore(transaction, laboratory.clock() + 1, 2))
  const seq = (await laboratory.send(`/v1/sessions/${session}`, { key: ada })).body['event_seq']
  const page = await laboratory.send(`/v1/sessions/${session}/events`, { key: ada })
  expect(page).toMatchObject({ status: 410, body: { code: 'cursor_expired', details: { seq } } })
  const stream = await laboratory.send(`/v1/sessions/${session}/events`, { key: ada, headers: { ...STREAM, 'last-event-id': '1' } })
  expect(stream).toMatchObject({ status: 410, headers: { 'content-type': 'application/problem+json' }, body: { details: { seq } } })
  expect(await laboratory.send(`/v1/sessions/${session}/events?after=${String(Number(seq))}`, { key: ada })).toMatchObject({ status: 200 })
})
