/** The gateway as official clients of both eras meet it, over a real server of either era. */
import { HoldfastError } from '@holdfast/protocol'
import {
  CreateMessageRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, test } from 'vitest'
import { childLines } from '../../mcp/share/contract/child-lines.ts'
import { KEY, legacyClient, modernClient, newClientOfBefore, openLaboratory, OTHER_KEY, post } from './http/contract/gateway-laboratory.ts'

const textOf = (result: object) => (result as { content: { text: string }[] }).content[0]?.text ?? ''
const SAMPLED = { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: 'a client' } }

const OPEN = { '2025-11-25': legacyClient, '2025-11-25 of the SDK 2.x': newClientOfBefore, '2026-07-28': modernClient } as const
type AnyClient = Awaited<ReturnType<typeof modernClient>>
/** Both generations of the library, with the calls that they have in common. */
const clientOf = async (revision: keyof typeof OPEN, url: string) => (await OPEN[revision](url)) as unknown as AnyClient

const PAIRS = (['legacy', 'modern'] as const).flatMap((era) =>
  (Object.keys(OPEN) as (keyof typeof OPEN)[]).map((revision) => [revision, era] as const),
)

describe.each(PAIRS)('a client of %s with a %s server', (revision, era) => {
  test('sees who it is, its tools and its resources, and calls', async () => {
    await using laboratory = await openLaboratory({ era })
    const client = await clientOf(revision, laboratory.url)
    expect(client.getServerVersion()).toMatchObject({ name: 'everything', version: '1.2.3' })
    expect(client.getInstructions()).toBe('Ask for anything.')
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo')
    expect(await client.readResource({ uri: 'note://one' })).toMatchObject({ contents: [{ text: 'one' }] })
    expect(textOf(await client.callTool({ name: 'echo', arguments: { said: 'grüß dich' } }))).toBe('grüß dich')
    expect(textOf(await client.callTool({ name: 'big', arguments: { bytes: 5_000_000 } }))).toHaveLength(5_000_000)
    await client.close()
  })

  test('hears of progress, and cancels', async () => {
    await using laboratory = await openLaboratory({ era })
    const client = await clientOf(revision, laboratory.url)
    const heard: number[] = []
    const call = (name: string, given: object, options: object) =>
      revision === '2025-11-25'
        ? (client.callTool as (...args: unknown[]) => Promise<object>)({ name, arguments: given }, undefined, options)
        : client.callTool({ name, arguments: given as Record<string, unknown> }, options)
    await call('progress', { count: 50 }, { onprogress: ({ progress }: { progress: number }) => void heard.push(progress) })
    expect(heard).toEqual(Array.from({ length: 50 }, (_, n) => n + 1))
    const cancel = new AbortController()
    const hanging = call('hang', {}, { signal: cancel.signal })
    hanging.catch(() => {})
    await expect.poll(() => laboratory.server.counts.calls).toBe(1)
    cancel.abort()
    await expect(hanging).rejects.toThrow()
    await expect.poll(async () => textOf(await client.callTool({ name: 'seen', arguments: {} }))).toContain('"cancelled":1')
    expect(laboratory.server.counts.calls).toBe(0)
    await client.close()
  })

  test('gets a typed error when the server dies in the middle of a call, and the next call a new server', async () => {
    await using laboratory = await openLaboratory({ era })
    const client = await clientOf(revision, laboratory.url)
    await expect(client.callTool({ name: 'die', arguments: { code: 9 } })).rejects.toMatchObject({
      message: expect.stringContaining('the MCP server ended with exit code 9'),
      data: { code: 'mcp_server_exited', details: { exitCode: 9 } },
    })
    expect(textOf(await client.callTool({ name: 'echo', arguments: { said: 'again' } }))).toBe('again')
    expect(laboratory.starts).toBe(2)
    await client.close()
  })
})

describe.each(['legacy', 'modern'] as const)('a %s server behind the gateway', (era) => {
  test('serves fifty clients of both eras, twenty calls each, and they leave nothing', async () => {
    await using laboratory = await openLaboratory({ era })
    const { url } = laboratory
    const serve = async (_: unknown, who: number) => {
      const client = await clientOf(who % 2 === 0 ? '2025-11-25' : '2026-07-28', url)
      for (let n = 0; n < 20; n += 1)
        expect(textOf(await client.callTool({ name: 'echo', arguments: { said: `${who}/${n}` } }))).toBe(`${who}/${n}`)
      const transport = client.transport as { terminateSession?: () => Promise<void> } | undefined
      if (who % 2 === 0) await transport?.terminateSession?.()
      await client.close()
    }
    await Promise.all(Array.from({ length: 50 }, serve))
    expect(laboratory.gateway.counts).toEqual({ sessions: 0, listeners: 0 })
    expect(laboratory.server.counts).toEqual({ clients: 0, calls: 0, asks: 0, subscriptions: 0 })
    expect(laboratory.starts).toBe(1)
  })

  test('asks a client of before in the middle of its call', async () => {
    await using laboratory = await openLaboratory({ era })
    const client = await legacyClient(laboratory.url, { sampling: {} })
    client.setRequestHandler(CreateMessageRequestSchema, async () => SAMPLED)
    expect(textOf(await client.callTool({ name: 'ask', arguments: {} }))).toContain('a client')
    await client.close()
  })

  test('tells a subscriber of before of its resource, and nobody else', async () => {
    await using laboratory = await openLaboratory({ era })
    const [one, other] = [await legacyClient(laboratory.url), await legacyClient(laboratory.url)]
    const heard: string[] = []
    one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri))
    other.setNotificationHandler(ResourceUpdatedNotificationSchema, () => expect.unreachable('it did not subscribe'))
    await one.subscribeResource({ uri: 'note://one' })
    await other.callTool({ name: 'touch', arguments: { uri: 'note://one' } })
    await expect.poll(() => heard).toEqual(['note://one'])
    await Promise.all([one.close(), other.close()])
  })

  test('tells a listener of 2026-07-28 what it listens to, until it leaves', async () => {
    await using laboratory = await openLaboratory({ era })
    const client = await modernClient(laboratory.url)
    const heard: string[] = []
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri))
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'))
    const other = await modernClient(laboratory.url)
    other.setNotificationHandler('notifications/tools/list_changed', () => expect.unreachable('it listens to something else'))
    const others = await other.listen({ resourcesListChanged: true })
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['note://one'] })
    await client.callTool({ name: 'touch', arguments: { uri: 'note://two' } })
    await client.callTool({ name: 'touch', arguments: { uri: 'note://one' } })
    await client.callTool({ name: 'changed', arguments: {} })
    await expect.poll(() => heard).toEqual(['note://one', 'tools'])
    await Promise.all([subscription.close(), others.close()])
    await expect.poll(() => laboratory.gateway.counts.listeners).toBe(0)
    await expect.poll(() => laboratory.server.counts).toEqual({ clients: 0, calls: 0, asks: 0, subscriptions: 0 })
    await client.close()
  })
})

describe('the gateway', () => {
  test('asks a client of 2026-07-28 in rounds', async () => {
    await using laboratory = await openLaboratory({ era: 'modern' })
    const client = await modernClient(laboratory.url, { sampling: {} })
    client.setRequestHandler('sampling/createMessage', async () => SAMPLED)
    expect(textOf(await client.callTool({ name: 'ask', arguments: {} }))).toContain('a client')
    await client.close()
  })

  test('passes a thousand quick notifications on', async () => {
    await using laboratory = await openLaboratory()
    const client = await legacyClient(laboratory.url)
    const heard: unknown[] = []
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params.data))
    await client.callTool({ name: 'notify', arguments: { count: 1000 } })
    await expect.poll(() => heard.length).toBe(1000)
    expect(heard).toEqual(Array.from({ length: 1000 }, (_, n) => ({ n })))
    await client.close()
  })

  test('cancels what a client waited for that vanishes', async () => {
    await using laboratory = await openLaboratory()
    const { url } = laboratory
    const { id } = await begin(url)
    const leaving = new AbortController()
    const gone = fetch(url, {
      method: 'POST',
      signal: leaving.signal,
      headers: { ...AUTHORIZED, 'mcp-session-id': id },
      body: JSON.stringify(call(2, 'hang')),
    })
    await expect.poll(() => laboratory.server.counts.calls).toBe(1)
    leaving.abort()
    await expect(gone).rejects.toThrow()
    await expect.poll(() => laboratory.server.counts.calls).toBe(0)
  })

  test('loses notifications of a client that does not read, and no answer', async () => {
    await using laboratory = await openLaboratory({ limits: { waitingMessages: 10 } })
    const { url } = laboratory
    const { id } = await begin(url)
    const session = { 'mcp-session-id': id }
    // Nobody reads the stream of this session yet.
    const answer = await post(url, call(2, 'notify', { count: 1000 }), session)
    expect(await answer.json()).toMatchObject({ id: 2, result: { content: [{ text: 'told' }] } })
    const stream = await fetch(url, { headers: { ...AUTHORIZED, ...session, accept: 'text/event-stream' } })
    const first = await stream.body?.getReader().read()
    expect(
      Buffer.from(first?.value ?? [])
        .toString()
        .split('data: ').length - 1,
    ).toBe(10)
  })

  test('keeps of what a client is asked that does not read only so much', async () => {
    // Asks and takes it back, over and over, with much to say.
    const program = `let n = 0
    const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
    const ask = () => {
      say({ id: 'q' + (n += 1), method: 'elicitation/create', params: { message: 'x'.repeat(100000) } })
      say({ method: 'notifications/cancelled', params: { requestId: 'q' + n } })
    }
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, error } = JSON.parse(line)
      if (method === 'initialize')
        return say({ id, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } } })
      if (method === 'tools/call') { global.call = id; ask() }
      if (method === undefined && n < 300) ask()
      else if (method === undefined) say({ id: global.call, result: { last: error?.message } })
    })`
    const share = { firstWord: 'initialize' } as const
    await using laboratory = await openLaboratory({ share, lines: () => childLines(['-e', program]), limits: { waitingBytes: 500_000 } })
    const first = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'x', version: '1' } }
    const begun = await post(laboratory.url, { jsonrpc: '2.0', id: 1, method: 'initialize', params: first })
    await begun.text()
    const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
    const call = await post(laboratory.url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'x' } }, session)
    await expect.poll(() => laboratory.server.counts.calls).toBe(0)
    const asked = (await call.text()).match(/elicitation/g)?.length
    expect(asked).toBeGreaterThan(0)
    expect(asked).toBeLessThan(300)
  })

  test('lets one who asks have so much at once, whichever conversations it names', async () => {
    const limits = { callsPerVisitor: 2, listenersPerVisitor: 1, listeners: 10, firstBytes: 1_000 }
    await using laboratory = await openLaboratory({ era: 'modern', limits })
    const client = await modernClient(laboratory.url)
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const headersOf = (method: string) => ({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method })
    const listening = (conversation: string, more = '') => {
      const params = { notifications: { toolsListChanged: true }, more, _meta: meta }
      const message = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }
      return post(`${laboratory.url}?session=${conversation}`, message, headersOf('subscriptions/listen'))
    }
    const both = await Promise.all([listening('a'), listening('b')])
    const types = both.map((response) => response.headers.get('content-type'))
    expect(new Set(types)).toEqual(new Set(['application/json', 'text/event-stream']))
    await Promise.all(both.map(async (response) => response.body?.cancel()))
    await expect.poll(() => laboratory.gateway.counts.listeners).toBe(0)
    expect((await listening('c', 'x'.repeat(1_000))).status).toBe(400)
    const unfit = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: { notifications: 1, _meta: meta } }
    expect(await (await post(laboratory.url, unfit, headersOf('subscriptions/listen'))).text()).toContain('must be a filter')
    expect(laboratory.gateway.counts.listeners).toBe(0)
    const leave = new AbortController()
    for (const _ of [1, 2]) client.callTool({ name: 'hang', arguments: {} }, { signal: leave.signal }).catch(() => {})
    await expect.poll(() => laboratory.server.counts.calls).toBe(2)
    const list = { jsonrpc: '2.0', id: 3, method: 'tools/list', params: { _meta: meta } }
    expect((await post(laboratory.url, list, headersOf('tools/list'))).status).toBe(429)
    const first = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    expect((await post(laboratory.url, { jsonrpc: '2.0', id: 4, method: 'initialize', params: first })).status).toBe(429)
    expect(laboratory.gateway.counts.sessions).toBe(0)
    leave.abort()
    await expect.poll(async () => (await post(laboratory.url, list, headersOf('tools/list'))).status).toBe(200)
    await client.close()
  })

  test('hides and refuses tools by its rules', async () => {
    await using laboratory = await openLaboratory({ tools: { allow: ['e*', 'seen', 'big'], deny: ['b*'] } })
    const [before, now] = [await legacyClient(laboratory.url), await modernClient(laboratory.url)]
    for (const client of [before, now]) {
      expect((await client.listTools()).tools.map(({ name }) => name).toSorted()).toEqual(['echo', 'seen'])
      await expect(client.callTool({ name: 'big', arguments: { bytes: 1 } })).rejects.toMatchObject({
        code: -32602,
        data: { code: 'mcp_tool_denied' },
      })
      await client.close()
    }
  })

  test('says that a server that hangs in its first words did not start', async () => {
    const lines = () => childLines(['-e', 'process.stdin.resume()'])
    await using laboratory = await openLaboratory({ lines, share: { limits: { probeMs: 50, handshakeMs: 50 } } })
    const told = { message: expect.stringContaining('did not answer initialize'), data: { code: 'mcp_init_failed' } }
    await expect(legacyClient(laboratory.url)).rejects.toMatchObject(told)
    expect(laboratory.gateway.counts.sessions).toBe(0)
    const answer = await post(laboratory.url, modern(1, 'tools/list'), MODERN('tools/list'))
    expect(await answer.json()).toMatchObject({ id: 1, error: { data: { code: 'mcp_init_failed' } } })
  })

  test('knows a session only for the one who began it', async () => {
    await using laboratory = await openLaboratory()
    const { url } = laboratory
    const { id } = await begin(url)
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const status = async (more: Record<string, string>) => (await post(url, list, more)).status
    expect(await status({})).toBe(400)
    expect(await status({ 'mcp-session-id': 'mcp_0000000000000000' })).toBe(404)
    expect(await status({ 'mcp-session-id': id, authorization: `Bearer ${OTHER_KEY}` })).toBe(404)
    expect(await status({ 'mcp-session-id': id, 'mcp-protocol-version': '1999-01-01' })).toBe(400)
    expect(await status({ 'mcp-session-id': id })).toBe(200)
    const ending = await fetch(url, { method: 'DELETE', headers: { ...AUTHORIZED, 'mcp-session-id': id } })
    expect([ending.status, await status({ 'mcp-session-id': id })]).toEqual([200, 404])
  })

  test('refuses who has no key, comes from another page, or sends what is no single message', async () => {
    await using laboratory = await openLaboratory({ limits: { bodyBytes: 1000 } })
    const { url } = laboratory
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const answer = async (body: unknown, more: Record<string, string> = {}, at = url) => {
      const response = await post(at, body, more)
      return [response.status, ((await response.json()) as { error?: { code: number } }).error?.code]
    }
    expect((await post(url, list, { authorization: 'Bearer wrong' })).status).toBe(401)
    expect((await post(url, list, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await post(url.replace('everything', 'nothing'), list)).status).toBe(404)
    expect((await post(url, `"${'x'.repeat(1000)}"`)).status).toBe(413)
    expect(await answer([list, list])).toEqual([400, -32600])
    expect(await (await post(url, [list])).text()).toContain('send one message at a time')
    expect(await answer('{')).toEqual([400, -32700])
    expect(await answer({ hello: 1 })).toEqual([400, -32600])
    expect(await answer(list, { 'content-type': 'text/plain' })).toEqual([415, -32600])
    expect(laboratory.starts).toBe(0)
  })

  test('checks the headers of 2026-07-28 against the body', async () => {
    await using laboratory = await openLaboratory()
    const answer = async (message: object, more: Record<string, string>) => {
      const response = await post(laboratory.url, message, more)
      return [response.status, ((await response.json()) as { error?: { code: number } }).error?.code]
    }
    const echo = modern(1, 'tools/call', { name: 'echo', arguments: { said: 'x' } })
    const good = { ...MODERN('tools/call'), 'mcp-name': 'echo' }
    expect(await answer(echo, good)).toEqual([200, undefined])
    expect(await answer(echo, { ...good, 'mcp-name': `=?base64?${Buffer.from('echo').toString('base64')}?=` })).toEqual([200, undefined])
    expect(await answer(echo, { ...good, 'mcp-name': 'big' })).toEqual([400, -32020])
    expect(await answer(echo, { ...good, 'mcp-name': '=?base64?!?=' })).toEqual([400, -32020])
    expect(await answer(echo, MODERN('tools/call'))).toEqual([400, -32020])
    expect(await answer(echo, { ...good, 'mcp-method': 'tools/list' })).toEqual([400, -32020])
    expect(await answer(echo, { 'mcp-protocol-version': '2026-07-28', 'mcp-name': 'echo' })).toEqual([400, -32020])
    expect(await answer(echo, { 'mcp-method': 'tools/call', 'mcp-name': 'echo' })).toEqual([400, -32020])
    expect(await answer(echo, { ...good, 'mcp-protocol-version': '2025-11-25' })).toEqual([400, -32020])
    expect(await answer(modern(1, 'ping'), MODERN('ping'))).toEqual([404, -32601])
    expect(await answer(modern(1, 'no/such'), MODERN('no/such'))).toEqual([404, -32601])
    const future = JSON.parse(JSON.stringify(modern(1, 'tools/list')).replaceAll('2026-07-28', '2099-01-01')) as object
    expect(await answer(future, { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' })).toEqual([400, -32022])
  })

  test('tells nothing more to one who lost the conversation, and keeps nothing for it', async () => {
    let isLost = false
    const recheck = async () => {
      if (isLost) throw new HoldfastError('not_found', 'there is no such session')
    }
    await using laboratory = await openLaboratory({ era: 'modern', recheck, limits: { keepAliveMs: 20 } })
    const { url } = laboratory
    const { id } = await begin(url)
    const listening = () => fetch(url, { headers: { ...AUTHORIZED, accept: 'text/event-stream', 'mcp-session-id': id } })
    const streams = [
      await listening(),
      await post(url, modern(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } }), MODERN('subscriptions/listen')),
    ]
    expect(laboratory.server.counts.clients).toBe(2)
    isLost = true
    await Promise.all(streams.map((stream) => stream.text()))
    expect((await listening()).status).toBe(404)
    expect(laboratory.server.counts.clients).toBe(0)
    expect(laboratory.gateway.counts).toEqual({ sessions: 0, listeners: 0 })
  })

  test('answers a slow call with a stream that says that it is still there', async () => {
    await using laboratory = await openLaboratory({ limits: { patienceMs: 20, keepAliveMs: 20 } })
    const { id } = await begin(laboratory.url)
    const response = await post(laboratory.url, call(2, 'hang'), { 'mcp-session-id': id })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const read = await response.body?.getReader().read()
    expect(Buffer.from(read?.value ?? []).toString()).toBe(': still here\n\n')
  })
})

const AUTHORIZED = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const call = (id: number, name: string, given: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given },
})

const modern = (id: number, method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params: {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
})

const MODERN = (method: string) => ({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method })

async function begin(url: string): Promise<{ readonly id: string }> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const response = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  // As JSON, or as a stream if it took long.
  const answer: unknown = JSON.parse(/^(?:data: )?(\{.*)$/m.exec(await response.text())?.[1] ?? '')
  expect(answer).toMatchObject({ result: { protocolVersion: '2025-06-18', serverInfo: { name: 'everything' } } })
  return { id: response.headers.get('mcp-session-id') ?? '' }
}
