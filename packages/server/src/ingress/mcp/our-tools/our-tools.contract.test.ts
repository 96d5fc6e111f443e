/** Our tools over Streamable HTTP, as the official clients of both protocol eras use them, in real sandboxes. */
import { CreateKeyBody, TOOL_NAMES } from '@holdfast/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { because } from '../../../../../../test/environment/backends.ts'
import { bubblewrapUnderTest, openRealServer } from '../../rest/contract/real-server.ts'
import type { RealServer } from '../../rest/contract/real-server.ts'
import { CLIENTS } from './contract/clients.ts'
import type { TestClient } from './contract/clients.ts'

const under = await bubblewrapUnderTest()
const OURS = [...TOOL_NAMES, 'session_status', 'session_reset']

describe.skipIf(under.skipReason !== null)(`our tools over MCP on bubblewrap${because(under)}`, () => {
  let real: RealServer
  const keys = { ada: '', ben: '', viewer: '', operator: '' }
  const opened: TestClient[] = []
  beforeAll(async () => {
    real = await openRealServer()
    keys.ada = await real.keyOf({ subject: 'ada' })
    keys.ben = await real.keyOf({ subject: 'ben' })
    keys.viewer = await real.keyOf({ subject: 'vera', role: 'viewer' })
    keys.operator = await real.keyOf({ subject: 'olga', role: 'operator' })
  })
  afterEach(async () => {
    for (const client of opened.splice(0)) await client.close()
  })
  afterAll(() => real.close())

  const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}, key = keys.ada) =>
    real.request(path, {
      method: 'POST',
      key,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

  test('no news of them are promised, and whoever wants to listen is told that there is nothing to hear', async () => {
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const ask = async (method: string, params: object) => {
      const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: envelope } }
      const response = await post('/mcp', message, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method })
      return [response.status, await response.json()]
    }
    expect(await ask('server/discover', {})).toMatchObject([200, { result: { capabilities: { tools: { listChanged: false } } } }])
    const listening = { notifications: { toolsListChanged: true } }
    expect(await ask('subscriptions/listen', listening)).toMatchObject([404, { id: 1, error: { code: -32601 } }])
  })

  describe.each(Object.entries(CLIENTS))('to a client of %s', (era, openClient) => {
    async function open(query = '', headers: Readonly<Record<string, string>> = {}, key = keys.ada): Promise<TestClient> {
      const client = await openClient(`${real.server.url}/mcp${query}`, { authorization: `Bearer ${key}`, ...headers })
      opened.push(client)
      return client
    }

    test('every tool is listed, with words for the model, and none takes a session', async () => {
      const client = await open()
      expect(await client.names()).toEqual(OURS)
      expect(client.instructions).toContain('/workspace')
    })

    test('every tool works, and a later call sees what an earlier one made', async () => {
      const client = await open(`?session=all-${era}`, {}, keys.operator)
      const told = async (name: string, input: Record<string, unknown>) => (await client.call(name, input)).structured
      expect(await told('write', { path: 'a.txt', content: 'one\ntwo\n' })).toEqual({ ok: true, path: 'a.txt' })
      expect(await told('edit', { path: 'a.txt', old_string: 'two', new_string: 'three' })).toMatchObject({ ok: true })
      expect(await told('read', { path: 'a.txt' })).toMatchObject({ ok: true, content: expect.stringContaining('three') as string })
      expect(await told('glob', { pattern: '*.txt' })).toMatchObject({ ok: true, total: 1 })
      expect(await told('grep', { pattern: 'thr' })).toMatchObject({ ok: true, matches: [{ line: 2 }] })
      expect(await told('exec', { command: 'cat a.txt' })).toMatchObject({ ok: true, stdout: 'one\nthree\n' })
      const skill = `skill-${era}`
      const text = `---\nname: ${skill}\ndescription: a test\n---\nDo it.\n`
      await told('write', { path: 'skill/SKILL.md', content: text })
      expect(await told('register_skill', { path: 'skill' })).toMatchObject({ ok: true, skill_name: skill })
      expect(await told('activate', { skill_name: skill })).toMatchObject({
        ok: true,
        instructions: expect.stringContaining('Do it.') as string,
      })
      expect(await told('session_status', {})).toMatchObject({ ok: true, workspace: 'intact' })
    })

    test('an image is shown as an image', async () => {
      const client = await open(`?session=image-${era}`)
      const data = Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1').toString('base64')
      await client.call('write', { path: 'plot.png', content: data, encoding: 'base64' })
      const { content, structured } = await client.call('read', { path: 'plot.png' })
      expect(content).toMatchObject([{ type: 'image', mimeType: 'image/png', data }, { type: 'text' }])
      expect(structured).toEqual({ ok: true, mime_type: 'image/png', size_bytes: 10 })
    })

    test('an app that the model starts can be looked at by the model and by the person', async () => {
      const client = await open(`?session=app-${era}`)
      const told = async (input: Record<string, unknown>) => (await client.call('preview', input)).structured
      const nothing = await client.call('preview', { port: 8000 })
      expect(nothing).toMatchObject({ isError: true })
      await client.call('write', { path: 'index.html', content: '<h1>hello</h1>' })
      const start = 'python3 -u -m http.server 8000 > log 2>&1 & until grep -q Serving log; do sleep 0.02; done'
      expect((await client.call('exec', { command: start })).structured).toMatchObject({ ok: true })
      const shown = (await told({ port: 8000, path: '/index.html?x=1' })) as { readonly url: string }
      expect(shown).toMatchObject({ ok: true, status: 200, content_type: 'text/html', text: '<h1>hello</h1>', truncated: false })
      const { host, pathname, search } = new URL(shown.url)
      expect([host.endsWith(`.localhost:${new URL(real.server.url).port}`), pathname, search]).toEqual([true, '/index.html', '?x=1'])
      expect(await told({ port: 8000, path: '/none' })).toMatchObject({ ok: true, status: 404 })
      expect(await told({ port: 8001 })).toEqual({
        ...{ ok: false, error: 'nothing listens on port 8001 of the session; start the app, on 127.0.0.1 or 0.0.0.0' },
      })
      expect(await told({ port: 0 })).toMatchObject({ ok: false, error: expect.stringContaining('port: must be a port') as string })
    })

    test('a result is text and structure; a command that fails is a result, a tool that cannot do it an error for the model', async () => {
      const client = await open(`?session=results-${era}`)
      const failed = await client.call('exec', { command: 'echo out; exit 3' })
      expect(failed).toMatchObject({ isError: false, structured: { ok: false, exit_code: 3, stdout: 'out\n' } })
      expect(JSON.parse(failed.text)).toEqual(failed.structured)
      const missing = await client.call('read', { path: 'gone.txt' })
      expect(missing).toMatchObject({ isError: true, structured: { ok: false, error: missing.text } })
      await expect(client.call('format_disk', {})).rejects.toThrow("there is no tool 'format_disk'")
    })

    test('another conversation and another owner have another sandbox; the same one is found by header and by address', async () => {
      const here = await open('?scope=chat&var.launcher_type=group', { 'holdfast-var-launcher-id': `7-${era}` })
      await here.call('write', { path: 'mine.txt', content: 'x' })
      const again = await open(`?var.launcher_id=7-${era}`, { 'holdfast-scope': 'chat', 'holdfast-var-launcher-type': 'group' })
      expect((await again.call('read', { path: 'mine.txt' })).isError).toBe(false)
      const there = await open(`?scope=chat&var.launcher_type=group&var.launcher_id=8-${era}`)
      expect((await there.call('read', { path: 'mine.txt' })).isError).toBe(true)
      const ben = await open(`?scope=chat&var.launcher_type=group&var.launcher_id=7-${era}`, {}, keys.ben)
      expect((await ben.call('read', { path: 'mine.txt' })).isError).toBe(true)
    })

    test('a client that names no conversation has the one of its owner, whichever connection it comes by', async () => {
      await (await open()).call('write', { path: `usual-${era}.txt`, content: 'x' })
      expect((await (await open('', { 'holdfast-session': 'mcp' })).call('read', { path: `usual-${era}.txt` })).isError).toBe(false)
      expect((await (await open('', {}, keys.ben)).call('read', { path: `usual-${era}.txt` })).isError).toBe(true)
    })

    test('a model cannot choose a session: what no schema has is refused, and nothing is done', async () => {
      const client = await open(`?session=strict-${era}`)
      for (const extra of [{ session_id: 'ses_0000000000000000' }, { session: 'other' }, { scope: 'global' }]) {
        const [field] = Object.keys(extra)
        for (const [name, input] of [
          ['exec', { command: 'touch done' }],
          ['session_status', {}],
          ['session_reset', {}],
        ] as const) {
          const told = await client.call(name, { ...input, ...extra })
          expect(told).toMatchObject({ isError: true, text: `${field}: is not a known field` })
        }
      }
      expect((await client.call('glob', { pattern: 'done' })).structured).toMatchObject({ total: 0 })
    })

    test('a reset ends the session of this conversation and no other, and the next call begins anew', async () => {
      const [client, other] = [await open(`?session=reset-${era}`), await open(`?session=kept-${era}`)]
      for (const each of [client, other]) await each.call('write', { path: 'a.txt', content: 'x' })
      expect(await client.call('session_reset', {})).toMatchObject({ isError: false })
      expect((await client.call('read', { path: 'a.txt' })).isError).toBe(true)
      expect((await other.call('read', { path: 'a.txt' })).isError).toBe(false)
      const id = await real.session(`kept-${era}`, {}, keys.ada)
      expect(await (await open(`?session=${id}`)).call('session_reset', {})).toMatchObject({ isError: true })
    })

    test('a viewer lists the tools and may use none that works; the id of somebody else’s session is not there', async () => {
      const viewer = await open(`?session=looked-at-${era}`, {}, keys.viewer)
      expect(await viewer.names()).toEqual(OURS)
      expect(await viewer.call('exec', { command: 'true' })).toMatchObject({ isError: true, structured: { code: 'forbidden' } })
      const id = await real.session(`private-${era}`, {}, keys.ada)
      const byId = await open(`?session=${id}`, {}, keys.viewer)
      expect(await byId.call('exec', { command: 'true' })).toMatchObject({ isError: true, structured: { code: 'forbidden' } })
      expect(await byId.call('session_reset', {})).toMatchObject({ isError: true })
      const ben = await open(`?session=${id}`, {}, keys.ben)
      expect(await ben.call('exec', { command: 'true' })).toMatchObject({ isError: true, structured: { code: 'not_found' } })
    })

    test('lines of a command are progress while it runs', async () => {
      const client = await open(`?session=progress-${era}`)
      await client.call('exec', { command: 'mkfifo go' })
      const heard = Promise.withResolvers<string>()
      // It ends only if its first line was heard before its end.
      const done = client.call('exec', { command: 'echo first; read line < go; echo $line' }, { onProgress: heard.resolve })
      expect(await heard.promise).toBe('first')
      await client.call('exec', { command: 'echo second > go' })
      expect((await done).structured).toMatchObject({ stdout: 'first\nsecond\n' })
    })

    test('cancelling a call ends its command with everything it started', async () => {
      const name = `cancelled-${era}`
      const client = await open(`?session=${name}`)
      const id = await real.session(name, {}, keys.ada)
      await client.call('exec', { command: 'mkfifo alive started' })
      // Ends when nobody of the command's tree is left to write.
      const ended = real.sh(id, 'cat alive', keys.ada)
      const leaving = new AbortController()
      const call = client.call('exec', { command: 'exec 3> alive; sleep 1000 & echo > started; wait' }, { signal: leaving.signal })
      const gone = call.then(
        () => 'answered',
        () => 'cancelled',
      )
      await real.sh(id, 'read line < started', keys.ada)
      leaving.abort()
      expect(await gone).toBe('cancelled')
      await ended
    })
  })

  test('nobody gets in without a good key, from a page of elsewhere, or by another name of the host', async () => {
    expect((await fetch(`${real.server.url}/mcp`, { method: 'POST', body: '{}' })).status).toBe(401)
    const wrong = await post('/mcp', LIST, {}, 'hf_0000000000000000000000000000000000000000000')
    expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    const elsewhere = await post('/mcp', LIST, { origin: 'https://evil.example' })
    expect([elsewhere.status, await elsewhere.json()]).toMatchObject([403, { code: 'origin_refused' }])
    expect((await post('/mcp', LIST, { origin: real.server.url })).status).toBe(200)
  })

  test('what names no conversation, or more than one, is refused by its field', async () => {
    const problem = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
      const response = await post(path, LIST, headers)
      return [response.status, ((await response.json()) as { title: string }).title]
    }
    expect(await problem('/mcp?session=a', { 'holdfast-session': 'b' })).toEqual([400, 'session: is given more than once'])
    expect(await problem('/mcp?session=a&scope=chat')).toEqual([400, 'session: give either session, or scope with its variables'])
    expect(await problem('/mcp?colour=red')).toEqual([400, 'colour: is not a known field'])
    expect(await problem('/mcp', { 'holdfast-colour': 'red' })).toEqual([400, 'colour: is not a known field'])
    expect(await problem('/mcp?scope=chta')).toMatchObject([400, expect.stringContaining('scope: ') as string])
  })

  test('messages come one at a time, up to a limit, and only by POST', async () => {
    expect((await post('/mcp', [LIST, LIST])).status).toBe(400)
    const large = await post('/mcp', `{"a":"${'x'.repeat(4 * 1024 * 1024)}"}`)
    expect([large.status, await large.json()]).toMatchObject([413, { code: 'payload_too_large' }])
    expect((await post('/mcp', 'no json')).status).toBe(400)
    for (const method of ['GET', 'DELETE']) expect((await real.request('/mcp', { method, key: keys.ada })).status).toBe(405)
    expect((await post('/mcp/nothing', LIST)).status).toBe(404)
  })

  test('a client that vanishes ends what it called', async () => {
    const id = await real.session('vanished', {}, keys.ada)
    await real.sh(id, 'mkfifo alive started', keys.ada)
    const ended = real.sh(id, 'cat alive', keys.ada)
    const leaving = new AbortController()
    const params = { name: 'exec', arguments: { command: 'exec 3> alive; sleep 1000 & echo > started; wait' } }
    const calling = real.request(`/mcp?session=${id}`, {
      ...{ method: 'POST', key: keys.ada, signal: leaving.signal },
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    await real.sh(id, 'read line < started', keys.ada)
    expect((await calling).status).toBe(200)
    leaving.abort()
    await ended
  })

  test('only who sent a call can cancel it, also with the ids of another', async () => {
    const id = await real.session('not-yours', {}, keys.ada)
    await real.sh(id, 'mkfifo go started', keys.ada)
    const headers = { 'mcp-session-id': 'mcp_known', 'mcp-protocol-version': '2025-11-25' }
    const params = { name: 'exec', arguments: { command: 'echo > started; read line < go; echo $line' } }
    const calling = post(`/mcp?session=${id}`, { jsonrpc: '2.0', id: 5, method: 'tools/call', params }, headers)
    await real.sh(id, 'read line < started', keys.ada)
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }
    expect((await post('/mcp', cancel, headers, keys.ben)).status).toBe(202)
    expect((await post('/mcp', cancel, { ...headers, 'mcp-session-id': 'mcp_other' })).status).toBe(202)
    await real.sh(id, 'echo finished > go', keys.ada)
    expect(await (await calling).text()).toContain('finished')
  })

  test('a key that is taken away ends what it called', async () => {
    const { key, record } = await real.server.plane.keys.create(real.admin, CreateKeyBody.parse({ name: 'lent', subject: 'ada' }))
    const session = await real.session('lent', {}, keys.ada)
    await real.sh(session, 'mkfifo started', keys.ada)
    const params = { name: 'exec', arguments: { command: 'echo > started; sleep 1000', timeout_sec: 1000 } }
    const calling = post(`/mcp?session=${session}`, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, {}, key)
    await real.sh(session, 'read line < started', keys.ada)
    await real.server.plane.keys.revoke(real.admin, record.id)
    expect(await (await calling).text()).toContain('cancelled')
  })

  test('requests are counted as everywhere', async () => {
    const hasty = await openRealServer({ HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: '1', HOLDFAST_RATE_LIMITS_BURST: '2' })
    try {
      const asking = Array.from({ length: 10 }, () => hasty.request('/mcp', { method: 'POST', body: JSON.stringify(LIST) }))
      expect((await Promise.all(asking)).map(({ status }) => status)).toContain(429)
    } finally {
      await hasty.close()
    }
  })
})
