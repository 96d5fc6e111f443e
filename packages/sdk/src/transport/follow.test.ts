/** Streams of events over connections that break. */
import { expect, test } from 'vitest'
import { follow } from './follow.ts'
import { createTransport } from './transport.ts'

type Answer = (request: Request, index: number) => Response | Promise<Response>

function transportTo(answer: Answer) {
  const seen: Request[] = []
  const transport = createTransport({
    ...{ url: 'http://test:1', apiKey: undefined, tenant: undefined, onBehalfOf: undefined, groups: undefined, webSocket: undefined },
    timeoutMs: 5000,
    fetch: async (input, init) => {
      const request = new Request(input, init)
      seen.push(request)
      return answer(request, seen.length - 1)
    },
  })
  return { seen, transport }
}

const events = (...names: readonly string[]) => new Response(names.map((name) => `event: ${name}\ndata: {}\n\n`).join(''))
const problem = (code: string, status: number, retry: string) => Response.json({ code, title: 'x', retry }, { status })
const signal = new AbortController().signal

test('a stream that ends is asked for again from its place, until the reader leaves', async () => {
  const { seen, transport } = transportTo((_request, index) => events(`e${index}`))
  let place = 0
  const names: string[] = []
  for await (const { event } of follow(transport, { request: () => ({ path: '/e', query: { after: place } }), signal })) {
    names.push(event)
    place += 1
    if (place === 3) break
  }
  expect(names).toEqual(['e0', 'e1', 'e2'])
  expect(seen.map(({ url }) => new URL(url).search)).toEqual(['?after=0', '?after=1', '?after=2'])
  expect(seen[0]?.headers.get('accept')).toBe('text/event-stream')
})

test('after a part the next one is asked for at once, from its place', async () => {
  const { seen, transport } = transportTo((_request, index) => events(`e${index}`, 'more'))
  let place = 0
  for await (const { event } of follow(transport, { request: () => ({ path: '/e', query: { after: place } }), signal })) {
    expect(event).toBe(`e${place}`)
    place += 1
    // With a pause before each of them this would take minutes.
    if (place === 1000) break
  }
  expect(new URL(seen.at(-1)?.url ?? '').search).toBe('?after=999')
})

test('"later" is waited for, at the beginning and inside; anything else is thrown', async () => {
  const inside = new Response('event: error\ndata: {"code":"server_stopping","title":"x","retry":"after-delay","status":503}\n\n')
  const revoked = new Response(
    'event: a\ndata: 1\n\nevent: error\ndata: {"code":"unauthorized","title":"x","retry":"after-change","status":401}\n\n',
  )
  const { transport } = transportTo(
    (_request, index) => [problem('session_unavailable', 503, 'after-delay'), inside, revoked][index] ?? events(),
  )
  const reading = follow(transport, { request: () => ({ path: '/e' }), signal })
  expect((await reading.next()).value).toMatchObject({ event: 'a' })
  await expect(reading.next()).rejects.toMatchObject({ code: 'unauthorized', status: 401 })
})

test('a lost server is given up after its time', async () => {
  const { transport } = transportTo(() => {
    throw new TypeError('fetch failed')
  })
  await expect(follow(transport, { request: () => ({ path: '/e' }), signal, reconnectMs: 1 }).next()).rejects.toMatchObject({
    code: 'server_unreachable',
  })
})

test('the reader’s signal ends it with its reason, also while nothing comes', async () => {
  const leaving = new AbortController()
  const silent = ({ signal: left }: Request) =>
    new ReadableStream({ start: (controller) => left.addEventListener('abort', () => controller.error(left.reason)) })
  const { transport } = transportTo((request) => new Response(silent(request)))
  const reading = follow(transport, { request: () => ({ path: '/e' }), signal: leaving.signal }).next()
  leaving.abort(new Error('enough'))
  await expect(reading).rejects.toThrow('enough')
})
