/** Large messages at the gateway: bounded per caller before they are parsed, and passed on as text. */
import { expect, test } from 'vitest'
import { KEY, openLaboratory, OTHER_KEY, post } from './http/contract/gateway-laboratory.ts'

const MIB = 1024 * 1024
/** Twenty times heavier parsed than as text. */
const heavy = (bytes: number) => `[${'{},'.repeat(bytes / 3)}{}]`
const calling = (id: number, tool: string, given: string) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":${given}}}`

async function begin(url: string, key = KEY): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const headers = { authorization: `Bearer ${key}` }
  const response = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, headers)
  await response.text()
  return { ...headers, 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' }
}

const send = (url: string, headers: Record<string, string>, body: string, signal?: AbortSignal) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body,
    ...(signal === undefined ? {} : { signal }),
  })

test.each(['legacy', 'modern'] as const)('passes large arguments and answers through to a %s server', async (era) => {
  await using laboratory = await openLaboratory({ era })
  const { url, budget } = laboratory
  const headers = await begin(url)
  const said = 'é'.repeat(MIB)
  const response = await send(url, headers, calling(2, 'echo', JSON.stringify({ said, more: [12] })))
  expect(await response.json()).toMatchObject({ id: 2, result: { content: [{ type: 'text', text: said }] } })
  await expect.poll(() => budget.inFlight).toEqual({ bytes: 0, streams: 0 })
})

test('refuses a caller who has too many large calls open, and nobody else; all is given back when it leaves', async () => {
  await using laboratory = await openLaboratory({ work: { bytes: { perCaller: 4 * MIB, perTenant: 16 * MIB, total: 32 * MIB } } })
  const { url, budget, server } = laboratory
  const [mine, other] = [await begin(url), await begin(url, OTHER_KEY)]
  const leaving = new AbortController()
  const body = calling(3, 'hang', `{"a":${heavy(MIB)}}`)
  const calls = Array.from({ length: 10 }, (_, at) => send(url, mine, body.replace('"id":3', `"id":${at + 10}`), leaving.signal))
  const outcomes = calls.map((call) =>
    call.then(
      ({ status, headers }) => [status, headers.get('retry-after')],
      () => ['left', null],
    ),
  )
  await expect.poll(() => server.counts.calls).toBe(3)
  expect((await send(url, other, calling(4, 'echo', '{"said":"hello"}'))).status).toBe(200)
  leaving.abort()
  const settled = await Promise.all(outcomes)
  expect(settled.filter(([status]) => status === 429)).toEqual(Array.from({ length: 7 }, () => [429, '1']))
  expect(settled.filter(([status]) => status === 'left')).toHaveLength(3)
  await expect.poll(() => budget.inFlight).toEqual({ bytes: 0, streams: 0 })
})

test('does not parse what is heavy: nothing waits for it longer than for a part of its parsing', async () => {
  await using laboratory = await openLaboratory()
  const { url, server } = laboratory
  const headers = await begin(url)
  const body = calling(5, 'hang', `{"a":${heavy(3 * MIB)}}`)
  const before = process.threadCpuUsage()
  JSON.parse(body)
  const parsing = process.threadCpuUsage(before).user
  const leaving = new AbortController()
  // Of the processor's time, so that a busy machine does not count.
  let [longest, turnBegan] = [0, process.threadCpuUsage()]
  const turns = setInterval(() => {
    longest = Math.max(longest, process.threadCpuUsage(turnBegan).user)
    turnBegan = process.threadCpuUsage()
  }, 0)
  const sent = send(url, headers, body, leaving.signal).catch(() => undefined)
  await expect.poll(() => server.counts.calls).toBe(1)
  clearInterval(turns)
  leaving.abort()
  await sent
  expect(longest).toBeLessThan(parsing / 2)
})

test.each([
  ['text that is not JSON', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":[${'{},'.repeat(200_000)}}`],
  ['a batch', `[${calling(6, 'hang', heavy(MIB))}]`],
  ['too much about the caller', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"a":${heavy(MIB)}}}}`],
])('refuses a large body that is %s', async (_what, body) => {
  await using laboratory = await openLaboratory()
  const response = await send(laboratory.url, await begin(laboratory.url), body)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { code: expect.any(Number) } })
})

test('writes one line for a large message with line breaks in it, whatever they hide', async () => {
  await using laboratory = await openLaboratory()
  const { url } = laboratory
  const headers = await begin(url)
  const forged = '\n{"jsonrpc":"2.0","id":99,"method":"ping"}\n'
  const body = calling(7, 'echo', `{\n"said":${JSON.stringify(forged)},\r\n"more":"${'x'.repeat(MIB)}"\n}`)
  expect(await (await send(url, headers, body)).json()).toMatchObject({ id: 7, result: { content: [{ text: forged }] } })
  expect((await send(url, headers, `${body.slice(0, -2)}\n}}\n{"jsonrpc":"2.0","id":9,"method":"ping"}`)).status).toBe(400)
})
