/** Through the whole of Holdfast to a server in a real box: large answers, many messages, many clients, and clients that leave. */
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, test } from 'vitest'
import { eventually } from '../servers/eventually.ts'
import { describeHard } from './hard-laboratory.ts'
import { begin, callOf, CLIENTS, legacyClient, messagesIn, modernCall, post, toolClient } from './mcp-clients.ts'
import type { Address, ToolClient } from './mcp-clients.ts'

const REVISIONS = Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]
const NUMBERS = Array.from({ length: 1000 }, (_, n) => n)
/** What lies in the buffers of sockets is not ours to bound. */
const SOCKET_BYTES = 16 * 1024 * 1024

await describeHard('an MCP server in a box', (laboratory) => {
  const { serve } = laboratory

  test.each(REVISIONS)('answers a client of %s with 5 MB', async (revision) => {
    const client = await toolClient(revision, await serve(`big-${revision}`))
    expect(await client.call('big', { bytes: 5_000_000 })).toBe('x'.repeat(5_000_000))
    await client.close()
  })

  test('tells a thousand things at once, in order, to a client of before that listens', async () => {
    const client = await legacyClient(await serve('telling'))
    const heard: unknown[] = []
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push((params.data as { n: number }).n))
    await client.callTool({ name: 'notify', arguments: { count: 1000 } })
    await eventually(() => heard.length).toBe(1000)
    expect(heard).toEqual(NUMBERS)
    await client.close()
  })

  test('tells a thousand things at once, in order, in the answer to a call of 2026-07-28', async () => {
    const answer = await modernCall(await serve('telling-now'), 'notify', { count: 1000 })
    const messages = messagesIn(await answer.text())
    const heard = messages.slice(0, -1).map(({ params }) => (params as { data: { n: number } }).data.n)
    expect(heard).toEqual(NUMBERS)
    expect(messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'told' }] } })
  })

  test('a client that does not read gets no more than a bound, and keeps nobody waiting', async () => {
    const address = await serve('unread')
    const session = await begin(address)
    const stream = await unreadStream(address, session)
    const other = await toolClient('2026-07-28', address)
    const told = { count: 20_000, padding: 2_000 }
    expect(await (await post(address, callOf(2, 'notify', told), session)).text()).toContain('told')
    expect(await other.call('echo', { said: 'still quick' })).toBe('still quick')
    const heard = await stream.readUntilQuiet(async () => void (await other.call('echo', { said: 'x' })))
    expect(heard.numbers.length).toBeGreaterThan(0)
    expect(heard.bytes).toBeLessThan(SOCKET_BYTES + 4 * 1024 * 1024)
    expect(heard.numbers.length).toBeLessThan(told.count)
    expect(heard.numbers).toEqual(heard.numbers.toSorted((one, next) => one - next))
    stream.close()
    await other.close()
  })

  test('fifty clients of both eras, twenty calls each, each get their own answers', async () => {
    const address = await serve('many')
    const pid = await withClient(address, (client) => client.call('pid'))
    await Promise.all(
      Array.from({ length: 50 }, (_, who) =>
        withClient(
          address,
          async (client) => {
            for (let n = 0; n < 20; n += 1) expect(await client.call('echo', { said: `${who}/${n}` })).toBe(`${who}/${n}`)
          },
          REVISIONS[who % 2],
        ),
      ),
    )
    expect(await withClient(address, (client) => client.call('pid'))).toBe(pid)
    const metrics = await (await laboratory.holdfast.ask('/metrics')).text()
    const answered = /^holdfast_mcp_requests_total\{method="tools\/call",outcome="answered"\} (\d+)$/m.exec(metrics)?.[1]
    expect(Number(answered)).toBeGreaterThanOrEqual(1002)
    expect(metrics).toMatch(/^holdfast_mcp_servers\{state="ready"\} [1-9]/m)
    expect(metrics).not.toContain('many')
    expect(await laboratory.runOf('many')).toMatchObject({ state: 'ready', attempts: 0 })
  })

  test('is told when a client of before vanishes or cancels, and the others go on', async () => {
    const address = await serve('left')
    const other = await toolClient('2025-11-25', address)
    const waiting = async () => JSON.parse(await other.call('waiting')) as object
    const session = await begin(address)
    const vanishing = new AbortController()
    const left = post(address, callOf(7, 'hang'), session, vanishing.signal)
    left.catch(() => undefined)
    await eventually(waiting).toEqual({ waiting: 1, cancelled: 0 })
    vanishing.abort()
    await expect(left).rejects.toThrow()
    await eventually(waiting).toEqual({ waiting: 0, cancelled: 1 })
    const cancelled = post(address, callOf(8, 'hang'), session)
    await eventually(waiting).toEqual({ waiting: 1, cancelled: 1 })
    const params = { requestId: 8, reason: 'not needed any more' }
    expect((await post(address, { jsonrpc: '2.0', method: 'notifications/cancelled', params }, session)).status).toBe(202)
    await eventually(waiting).toEqual({ waiting: 0, cancelled: 2 })
    expect(await (await cancelled).text()).toContain('request_cancelled')
    await other.close()
  })

  test('is told when a client of 2026-07-28 closes the answer to its call, and the others go on', async () => {
    const address = await serve('left-now')
    const other = await toolClient('2026-07-28', address)
    const waiting = async () => JSON.parse(await other.call('waiting')) as object
    const leaving = new AbortController()
    const left = modernCall(address, 'hang', {}, leaving.signal)
    left.catch(() => undefined)
    await eventually(waiting).toEqual({ waiting: 1, cancelled: 0 })
    leaving.abort()
    await expect(left).rejects.toThrow()
    await eventually(waiting).toEqual({ waiting: 0, cancelled: 1 })
    await other.close()
  })
})

async function withClient<T>(address: Address, use: (client: ToolClient) => Promise<T>, revision = REVISIONS[0]): Promise<T> {
  const client = await toolClient(revision ?? '2025-11-25', address)
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

/** The stream of a session, of which nothing is read until it is asked for. */
async function unreadStream({ url, key }: Address, session: Readonly<Record<string, string>>) {
  const asked = request(url, { headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', ...session }, agent: false })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  asked.once('response', resolve).once('error', reject).end()
  const response = await promise
  response.pause()
  return {
    /** `nudge` is done between two looks, and takes its time: when nothing came meanwhile, nothing comes any more. */
    async readUntilQuiet(nudge: () => Promise<void>) {
      let text = ''
      response
        .setEncoding('utf8')
        .on('data', (piece: string) => (text += piece))
        .resume()
      for (let before = -1; before !== text.length;) {
        before = text.length
        for (let turn = 0; turn < 20; turn += 1) await nudge()
      }
      const whole = text.slice(0, text.lastIndexOf('\n\n') + 1)
      const numbers = messagesIn(whole).map(({ params }) => (params as { data: { n: number } }).data.n)
      return { bytes: text.length, numbers }
    },
    close: () => asked.destroy(),
  }
}
