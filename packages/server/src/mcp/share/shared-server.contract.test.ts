/** One real stdio server of either era, shared by many clients. */
import { HoldfastError } from '@holdfast/protocol'
import { afterEach, describe, expect, test } from 'vitest'
import { jsonLog } from '../../telemetry/log.ts'
import { childLines, everythingLines } from './contract/child-lines.ts'
import type { ChildLines } from './contract/child-lines.ts'
import { parsedMembers } from './large-json.ts'
import type { JsonObject, Reply, RpcNotification } from './message.ts'
import { shareServer } from './shared-server.ts'
import type { SharedServer, ShareNeeds } from './shared-server.ts'
import type { ClientListener, SharedClient } from './shared-clients.ts'

const log = jsonLog('error')
const opened: SharedServer[] = []

afterEach(() => {
  for (const server of opened.splice(0)) server.close()
})

function share(lines: ChildLines, needs: Partial<ShareNeeds> = {}): SharedServer {
  const server = shareServer({ lines, clientInfo: { name: 'test', version: '1' }, clock: Date.now, log, onLog: () => {}, ...needs })
  opened.push(server)
  return server
}

interface Heard extends SharedClient {
  readonly heard: RpcNotification[]
}

function connect(server: SharedServer, listener: Partial<ClientListener> = {}): Heard {
  const heard: RpcNotification[] = []
  const client = server.connect({
    info: { name: 'client', version: '1' },
    capabilities: {},
    onNotification: (notification) => void heard.push(notification),
    ...listener,
  })
  return { ...client, heard }
}

const call = (client: SharedClient, name: string, given: JsonObject = {}, options: Parameters<SharedClient['request']>[1] = {}) =>
  client.request({ method: 'tools/call', params: { name, arguments: given } }, options)

function textOf(reply: Reply): string {
  return 'result' in reply
    ? String((parsedMembers(reply.result, Infinity)['content'] as { text: string }[])[0]?.text)
    : `error ${JSON.stringify(reply.error)}`
}

const seenBy = async (client: SharedClient) => JSON.parse(textOf(await call(client, 'seen'))) as Record<string, unknown>

describe.each(['legacy', 'modern'] as const)('a %s server, shared', (era) => {
  test('is greeted once, and its answer is there for all', async () => {
    const server = share(everythingLines(era))
    const handshake = await server.initialized
    expect(handshake).toMatchObject({ era, serverInfo: { name: 'everything', version: '1.2.3' }, instructions: 'Ask for anything.' })
    const clients = Array.from({ length: 5 }, () => connect(server))
    await Promise.all(clients.map((client) => client.request({ method: 'tools/list' })))
    expect(await seenBy(clients[0] as SharedClient)).toMatchObject({ starts: era === 'legacy' ? 1 : 0 })
  })

  test('answers fifty clients of twenty calls each with what each of them asked', async () => {
    const server = share(everythingLines(era))
    const answers = Array.from({ length: 50 }, async (_, who) => {
      const client = connect(server)
      const said = Array.from({ length: 20 }, (_unused, n) => `${who}/${n}`)
      const heard = await Promise.all(said.map(async (word) => textOf(await call(client, 'echo', { said: word }))))
      client.close()
      return heard.every((word, n) => word === said[n])
    })
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 50 }, () => true))
    expect(server.counts).toEqual({ clients: 0, calls: 0, asks: 0, subscriptions: 0 })
  })

  test('gives five megabytes whole', async () => {
    const client = connect(share(everythingLines(era)))
    expect(textOf(await call(client, 'big', { bytes: 5_000_000 }))).toHaveLength(5_000_000)
  })

  test('fails only the call whose answer is above the limit', async () => {
    const client = connect(share(everythingLines(era), { limits: { messageBytes: 100_000 } }))
    const both = await Promise.allSettled([call(client, 'big', { bytes: 200_000 }), call(client, 'echo', { said: 'small' })])
    expect(both[0]).toMatchObject({ status: 'rejected', reason: { code: 'mcp_message_too_large' } })
    expect(both[1]).toMatchObject({ status: 'fulfilled', value: { result: { content: [{ text: 'small' }] } } })
  })

  test('tells of progress to its caller alone, under the caller’s token', async () => {
    const server = share(everythingLines(era))
    const [one, other] = [connect(server), connect(server)]
    const progress: JsonObject[] = []
    const others: JsonObject[] = []
    const params = (token: string) => ({ name: 'progress', arguments: { count: 3 }, _meta: { progressToken: token } })
    await Promise.all([
      one.request({ method: 'tools/call', params: params('mine') }, { onProgress: (told) => void progress.push(told) }),
      other.request({ method: 'tools/call', params: params('mine') }, { onProgress: (told) => void others.push(told) }),
      call(other, 'progress', { count: 3 }, { onProgress: () => expect.unreachable('nobody asked') }),
    ])
    const expected = [1, 2, 3].map((n) => ({ progressToken: 'mine', progress: n, total: 3 }))
    expect([progress, others]).toEqual([expected, expected])
    expect([...one.heard, ...other.heard]).toEqual([])
  })

  test('hears that a call is cancelled, and that a client has left', async () => {
    const server = share(everythingLines(era))
    const [one, other, witness] = [connect(server), connect(server), connect(server)]
    const changed = new AbortController()
    const hanging = call(one, 'hang', {}, { signal: changed.signal })
    const left = call(other, 'hang')
    await expect.poll(() => server.counts.calls).toBe(2)
    // What was sent before is read before.
    await call(witness, 'echo', { said: 'x' })
    changed.abort()
    other.close()
    await expect(hanging).rejects.toMatchObject({ code: 'request_cancelled' })
    await expect(left).rejects.toMatchObject({ code: 'request_cancelled' })
    await expect.poll(async () => (await seenBy(witness))['cancelled']).toBe(2)
    expect(server.counts).toMatchObject({ clients: 2, calls: 0 })
  })

  test('tells subscribers of their resource, and is asked once for all of them', async () => {
    const server = share(everythingLines(era))
    const [one, other, third] = [connect(server), connect(server), connect(server)]
    const subscribe = (client: SharedClient) => client.request({ method: 'resources/subscribe', params: { uri: 'note://one' } })
    await Promise.all([subscribe(one), subscribe(other)])
    await call(third, 'touch', { uri: 'note://one' })
    await call(third, 'touch', { uri: 'note://two' })
    const updated = [{ kind: 'notification', method: 'notifications/resources/updated', params: { uri: 'note://one' } }]
    await expect.poll(() => [one.heard, other.heard, third.heard]).toEqual([updated, updated, []])
    await one.request({ method: 'resources/unsubscribe', params: { uri: 'note://one' } })
    expect(server.counts.subscriptions).toBe(1)
    other.close()
    expect(server.counts.subscriptions).toBe(0)
    // A server of 2026-07-28 is not asked, but listened to.
    const asked = era === 'legacy' ? ['note://one'] : []
    await expect.poll(() => seenBy(third)).toMatchObject({ subscribed: asked, unsubscribed: asked })
    await call(third, 'touch', { uri: 'note://one' })
    await call(third, 'echo', { said: 'x' })
    expect([one.heard, other.heard]).toEqual([updated, updated])
  })

  test('tells everybody that its tools have changed', async () => {
    const server = share(everythingLines(era))
    const [one, other] = [connect(server), connect(server)]
    await call(one, 'changed')
    const changed = [expect.objectContaining({ method: 'notifications/tools/list_changed' })]
    await expect.poll(() => [one.heard, other.heard]).toEqual([changed, changed])
  })

  test('prints what is no message into its log, and goes on', async () => {
    const printed: string[] = []
    const client = connect(share(everythingLines(era), { onLog: (line) => void printed.push(line) }))
    expect(textOf(await call(client, 'garbage'))).toBe('printed')
    expect(printed).toEqual(['this is no message', '{"nor":"this"}'])
  })

  test('fails every call under way with its exit when it dies', async () => {
    const server = share(everythingLines(era))
    const clients = [connect(server), connect(server)]
    const hanging = clients.map((client) => call(client, 'hang'))
    const dying = call(connect(server), 'die', { code: 7 })
    const outcomes = await Promise.allSettled([...hanging, dying])
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'mcp_server_exited', details: { exitCode: 7 } } })
    expect(await server.ended).toMatchObject({ message: 'the MCP server ended with exit code 7' })
    expect(server.counts).toEqual({ clients: 0, calls: 0, asks: 0, subscriptions: 0 })
    expect(() => connect(server)).toThrow('the MCP server ended with exit code 7')
  })

  test('fails what waits when nobody can say whether it arrived, and answers what is asked after', async () => {
    const lines = everythingLines(era)
    let doubt: (error: unknown) => void = () => {}
    const write: ChildLines['write'] = (bytes, onDoubt) => {
      doubt = onDoubt
      return lines.write(bytes, onDoubt)
    }
    const client = connect(share({ ...lines, write }))
    const hanging = call(client, 'hang')
    await call(client, 'echo', { said: 'here' })
    doubt(new HoldfastError('input_uncertain', 'the connection broke'))
    await expect(hanging).rejects.toMatchObject({ code: 'input_uncertain' })
    expect(textOf(await call(client, 'echo', { said: 'again' }))).toBe('again')
  })

  test('answers a check', async () => {
    await expect(share(everythingLines(era)).check(5_000)).resolves.toBeUndefined()
  })
})

describe('a legacy server, shared', () => {
  test('is set to the lowest level that anybody asked for, and each client hears from its own on', async () => {
    const server = share(everythingLines('legacy'))
    const [quiet, loud, silent] = [connect(server), connect(server), connect(server)]
    const setLevel = (client: SharedClient, level: string) => client.request({ method: 'logging/setLevel', params: { level } })
    await setLevel(quiet, 'error')
    await setLevel(loud, 'debug')
    await setLevel(quiet, 'warning')
    expect(await seenBy(silent)).toMatchObject({ level: 'debug', levels: 2 })
    await call(silent, 'notify', { count: 1000 })
    expect([quiet.heard.length, loud.heard.length, silent.heard.length]).toEqual([0, 1000, 1000])
    loud.close()
    await expect.poll(() => seenBy(silent)).toMatchObject({ level: 'warning', levels: 3 })
  })

  test('asks the one client whose call is under way', async () => {
    const server = share(everythingLines('legacy'))
    const can = connect(server, { capabilities: { sampling: {} } })
    const cannot = connect(server)
    const asked: string[] = []
    const result = { role: 'assistant', model: 'm', content: { type: 'text', text: 'me' } }
    const onRequest = async ({ method }: { method: string }) => {
      asked.push(method)
      return { result }
    }
    expect(JSON.parse(textOf(await call(can, 'ask', {}, { onRequest })))).toEqual(result)
    expect(textOf(await call(cannot, 'ask', {}, { onRequest }))).toContain('does not offer sampling')
    expect(asked).toEqual(['sampling/createMessage'])
    const broken = () => Promise.reject(new Error('it broke'))
    expect(textOf(await call(can, 'ask', {}, { onRequest: broken }))).toContain('could not be asked')
  })

  test('asks nobody while calls of several clients are under way', async () => {
    const server = share(everythingLines('legacy'))
    const [one, other] = [connect(server, { capabilities: { sampling: {} } }), connect(server)]
    call(other, 'hang').catch(() => {})
    await expect.poll(() => server.counts.calls).toBe(1)
    const onRequest = async () => expect.unreachable('it may be about the other one')
    expect(textOf(await call(one, 'ask', {}, { onRequest }))).toContain('no single call')
  })

  test('asks nobody while it may still be at a call that its client has left', async () => {
    // Sleeps on when it is told that a call is cancelled, and asks then.
    const program = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params, result, error } = JSON.parse(line)
      const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
      if (method === 'initialize')
        return say({ id, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } } })
      if (method === 'notifications/cancelled') {
        say({ method: 'notifications/custom', params: { of: 'the one who left' } })
        return say({ id: 'q', method: 'elicitation/create', params: { message: 'of the one who left' } })
      }
      if (id === 'q') return say({ id: global.waiting, result: { asked: error ?? result } })
      if (params?.name === 'wait') global.waiting = id
    })`
    const server = share(childLines(['-e', program]), { firstWord: 'initialize' })
    const [leaver, other] = [connect(server), connect(server, { capabilities: { elicitation: {} } })]
    call(leaver, 'hang').catch(() => {})
    const asked: unknown[] = []
    const onRequest = async (request: unknown) => {
      asked.push(request)
      return { result: {} }
    }
    await expect.poll(() => server.counts.calls).toBe(1)
    const waiting = call(other, 'wait', {}, { onRequest })
    await expect.poll(() => server.counts.calls).toBe(2)
    leaver.close()
    expect(await waiting).toMatchObject({ result: { asked: { message: expect.stringContaining('no single call') } } })
    expect([asked, other.heard]).toEqual([[], []])
  })

  test('whose clients are of several conversations tells its log lines to the one whose calls alone it is at', async () => {
    const server = share(everythingLines('legacy'), { keepsLogsApart: true })
    const [one, other] = [connect(server), connect(server)]
    await other.request({ method: 'logging/setLevel', params: { level: 'debug' } })
    await call(one, 'notify', { count: 3 })
    expect([one.heard.length, other.heard.length]).toEqual([3, 0])
    call(other, 'hang').catch(() => {})
    await call(one, 'notify', { count: 3 })
    expect([one.heard.length, other.heard.length]).toEqual([3, 0])
  })

  test('that does not answer initialize fails in time', async () => {
    const lines = childLines(['-e', 'process.stdin.resume()'])
    const server = share(lines, { limits: { probeMs: 50, handshakeMs: 50 } })
    await expect(server.initialized).rejects.toMatchObject({ code: 'mcp_init_failed', details: { phase: 'mcp_init' } })
    expect(await server.ended).toMatchObject({ code: 'mcp_init_failed' })
  })

  test('of 2026-07-28 that is slow to start, and has settled on the first word by then, is asked again', async () => {
    // As the Python library does: whatever it is asked first decides, and another greeting is refused.
    const settled = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      const answer = method === 'server/discover'
        ? { result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } }
        : { error: { code: -32022, message: 'the initialize handshake is not accepted' } }
      console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })`
    const server = share(childLines(['-e', settled]), { limits: { probeMs: 1 } })
    expect(await server.initialized).toMatchObject({ era: 'modern', capabilities: { tools: {} } })
  })

  test.each(['legacy', 'modern'] as const)('that is %s and slow to start answers', async (era) => {
    const client = connect(share(everythingLines(era), { limits: { probeMs: 1 } }))
    expect(textOf(await call(client, 'echo', { said: 'late' }))).toBe('late')
  })

  test('that is slow to start and refuses both ways says so', async () => {
    const refusing = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, error: { code: -32000, message: 'not today' } }))
    })`
    await expect(share(childLines(['-e', refusing]), { limits: { probeMs: 1 } }).initialized).rejects.toMatchObject({
      code: 'mcp_init_failed',
      message: expect.stringContaining('it refused initialize: not today'),
    })
  })

  test('that says more of itself than anybody wants to hear is not taken', async () => {
    const program = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const serverInfo = { name: 'x'.repeat(270000), version: '1' }
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
      console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result }))
    })`
    const server = share(childLines(['-e', program]), { firstWord: 'initialize' })
    await expect(server.initialized).rejects.toMatchObject({ code: 'mcp_init_failed' })
  })

  test('that ends before it speaks says with what', async () => {
    const server = share(childLines(['-e', 'process.exit(3)']))
    await expect(server.initialized).rejects.toMatchObject({ code: 'mcp_server_exited', details: { exitCode: 3 } })
  })

  test('is given up on a call that it does not answer in time, and told so', async () => {
    const server = share(everythingLines('legacy'), { limits: { requestMs: 300 } })
    const client = connect(server)
    await expect(call(client, 'hang')).rejects.toMatchObject({ code: 'mcp_request_timed_out' })
    await expect.poll(async () => (await seenBy(client))['cancelled']).toBe(1)
  })

  test('that was greeted before is not greeted again', async () => {
    const known = { era: 'legacy', protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'known', version: '1' } } as const
    // Ends at an initialize, and answers everything else.
    const program = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      if (method === 'initialize' || method === 'server/discover') process.exit(1)
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { big: 1, method } }).replace(':1,', ':12345678901234567890,'))
    })`
    const client = connect(share(childLines(['-e', program]), { known }))
    const reply = await client.request({ method: 'tools/list' })
    // An integer that is too large for a number stays what it is.
    expect(JSON.stringify(reply)).toBe('{"result":{"big":12345678901234567890,"method":"tools/list"}}')
  })
})
