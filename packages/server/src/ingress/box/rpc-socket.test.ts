/** The WebSocket of the Box door: who is let in, and that no client harms the connection or another client. */
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { boxRefusal } from './contract/box-client.ts'
import { CONTEXT, INSTANCE, openBoxLaboratory, WITH_INSTANCE } from './contract/box-laboratory.ts'
import type { BoxLaboratory } from './contract/box-laboratory.ts'
import { RESULT, SESSION } from './contract/scripted-runtime.ts'
import type { BoxRuntime } from './runtime.ts'
import type { BoxSettings } from './settings.ts'

const TOKEN = 't'.repeat(40)
const UNAUTHORIZED = { status: 401, type: 'text/plain; charset=utf-8', body: 'Unauthorized' }
const opened: BoxLaboratory[] = []
afterEach(async () => {
  for (const laboratory of opened.splice(0)) await laboratory.close()
})
async function open(script: Partial<BoxRuntime> = {}, settings: Partial<BoxSettings> = {}): Promise<BoxLaboratory> {
  const laboratory = await openBoxLaboratory(script, settings)
  opened.push(laboratory)
  return laboratory
}
const SPEC = { session_id: 's1', cmd: 'x' }

/** A command that runs until it is cancelled. */
function endless() {
  const signals: AbortSignal[] = []
  const cancelled = Promise.withResolvers<void>()
  const exec: BoxRuntime['exec'] = async (_tenant, _spec, signal) => {
    signals.push(signal)
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    return RESULT
  }
  const watched: BoxRuntime['exec'] = async (tenant, spec, signal) => exec(tenant, spec, signal).finally(() => cancelled.resolve())
  return { exec: watched, signals, cancelled: cancelled.promise }
}

describe('is let in', () => {
  test('with an instance that stays the only one until the server stops', async () => {
    const { url, dial, gate } = await open()
    expect(await boxRefusal(url, { 'x-langbot-instance-id': 'bad id' })).toEqual(UNAUTHORIZED)
    const relay = { host: '127.0.0.1', 'x-langbot-workspace-id': 'ws-A', 'x-langbot-placement-generation': '1' }
    expect(gate.tenantOf({ headers: { ...relay, 'x-langbot-instance-id': 'inst-2' } } as never)).toBeNull()
    const first = await dial()
    expect(await boxRefusal(url, { 'x-langbot-instance-id': 'inst-2' })).toEqual(UNAUTHORIZED)
    await first.leave()
    expect(await boxRefusal(url, { 'x-langbot-instance-id': 'inst-2' })).toEqual(UNAUTHORIZED)
    expect(await (await dial()).ask('__ping')).toMatchObject({ code: 0 })
  })

  test('with the token, where there is one, and the configured instance', async () => {
    const { url, dial } = await open({}, { token: TOKEN, instance: INSTANCE })
    const token = { 'x-langbot-box-control-token': TOKEN }
    const refused = [
      {},
      WITH_INSTANCE,
      token,
      { ...WITH_INSTANCE, 'x-langbot-box-control-token': `${TOKEN}x` },
      { ...token, 'x-langbot-instance-id': 'inst-2' },
    ]
    for (const headers of refused) expect(await boxRefusal(url, headers)).toEqual(UNAUTHORIZED)
    expect(await (await dial({ ...WITH_INSTANCE, ...token })).ask('__ping')).toMatchObject({ code: 0 })
  })

  test('with a token that nobody asked for', async () => {
    const { dial } = await open()
    expect(await (await dial({ ...WITH_INSTANCE, 'x-langbot-box-control-token': 'whatever' })).ask('__ping')).toMatchObject({ code: 0 })
  })

  test('unless it is a page in a browser, or uses another name for this machine', async () => {
    const { url } = await open()
    expect(await boxRefusal(url, { origin: 'https://evil.example' })).toEqual(UNAUTHORIZED)
    expect(await boxRefusal(url, { ...WITH_INSTANCE, origin: 'null' })).toEqual(UNAUTHORIZED)
    expect(await boxRefusal(url, { ...WITH_INSTANCE, host: 'evil.example' })).toEqual(UNAUTHORIZED)
  })

  test('before anything is known of a workspace, which a refused one does not change', async () => {
    const { gate, dial } = await open()
    await dial()
    const headers = { ...WITH_INSTANCE, host: '127.0.0.1', 'x-langbot-workspace-id': 'ws-A' }
    const tenantOf = (generation: string) =>
      gate.tenantOf({ headers: { ...headers, 'x-langbot-placement-generation': generation } } as never)
    expect(tenantOf('1')).toMatchObject({ placement: 'ws-2db0470dd734a3cfd13ed6b1-g1' })
    for (const wrong of ['0', '01', '1.0', '-1', ' 1', '', 'x', '9'.repeat(20)]) expect(tenantOf(wrong)).toBeNull()
    expect(
      gate.tenantOf({ headers: { ...headers, 'x-langbot-workspace-id': ' ', 'x-langbot-placement-generation': '1' } } as never),
    ).toBeNull()
    expect(
      gate.tenantOf({ headers: { ...headers, 'x-langbot-workspace-id': 'w'.repeat(257), 'x-langbot-placement-generation': '1' } } as never),
    ).toBeNull()
  })
})

test('a relay is refused for a generation that is not the newest, and told when its own is not any more', async () => {
  const { gate, dial } = await open()
  const client = await dial()
  const headers = { ...WITH_INSTANCE, host: '127.0.0.1', 'x-langbot-workspace-id': 'ws-A' }
  const tenantOf = (generation: string) => gate.tenantOf({ headers: { ...headers, 'x-langbot-placement-generation': generation } } as never)
  await client.ask('box_status', {}, CONTEXT)
  const tenant = tenantOf('1')
  expect([tenant?.generation, tenantOf('2')]).toEqual([1, null])
  const told = Promise.withResolvers<void>()
  if (tenant !== null) gate.onStale(tenant, told.resolve)
  await client.ask('box_status', {}, { ...CONTEXT, placement_generation: 2 })
  await told.promise
  expect([tenantOf('1'), tenantOf('2')?.generation]).toEqual([null, 2])
})

describe('a client of the 0.4 generation', () => {
  test('has no instance and no context, and keeps its ids as they are', async () => {
    const { dial, runtime, gate } = await open()
    const client = await dial({})
    expect(await client.ask('box_create_session', { session_id: 'grp/1:x' })).toMatchObject({
      code: 0,
      data: { ...SESSION, session_id: 'grp/1:x' },
    })
    expect(await client.ask('box_exec', SPEC)).toMatchObject({ code: 0, data: RESULT })
    expect(await client.ask('box_get_sessions')).toMatchObject({ data: { sessions: [SESSION] } })
    expect(await client.ask('box_list_skills')).toMatchObject({ data: { skills: [] } })
    expect(runtime.asked.map(({ workspace }) => workspace)).not.toContain('ws-A')
    expect(gate.tenantOf({ headers: { host: '127.0.0.1' } } as never)).toMatchObject({ placement: '' })
    expect(await client.ask('box_status', {}, CONTEXT)).toMatchObject({ message: expect.stringMatching(/^PermissionError: /) as string })
  })

  test('is not let in where a token or an instance is configured', async () => {
    const guarded = await open({}, { token: TOKEN })
    const named = await open({}, { instance: INSTANCE })
    for (const { url } of [guarded, named]) expect(await boxRefusal(url)).toEqual(UNAUTHORIZED)
  })
})

describe('session ids', () => {
  test('go in as they are and come out as names, without the placement, however deep', async () => {
    const { dial } = await open()
    const client = await dial()
    const { data } = await client.ask('box_get_session', { session_id: ' grp/1:x ' }, CONTEXT)
    expect(data).toMatchObject({ session_id: 'grp-1-x', managed_processes: { p2: { session_id: 'grp-1-x' } } })
    expect(await client.ask('box_delete_session', { session_id: 'grp/1:x' }, CONTEXT)).toMatchObject({ data: { deleted: 'grp/1:x' } })
  })
})

describe('calls', () => {
  test('run side by side, and are answered in any order', async () => {
    const slow = Promise.withResolvers<void>()
    const { dial } = await open({ exec: async (_tenant, { cmd }) => (cmd === 'slow' ? slow.promise.then(() => RESULT) : RESULT) })
    const client = await dial()
    const waiting = client.ask('box_exec', { ...SPEC, cmd: 'slow' }, CONTEXT)
    expect(await client.ask('box_exec', SPEC, CONTEXT)).toMatchObject({ code: 0 })
    slow.resolve()
    expect(await waiting).toMatchObject({ code: 0 })
  })

  test('are 128 at most; the next is told at once that the connection is busy, and others are not', async () => {
    const { exec, signals } = endless()
    const { dial } = await open({ exec })
    const [client, other] = [await dial(), await dial()]
    const flood = Array.from({ length: 128 }, async () => client.ask('box_exec', SPEC, CONTEXT))
    await expect.poll(() => signals).toHaveLength(128)
    const { code, message } = await client.ask('__ping')
    expect([code, message]).toEqual([1, 'the connection is busy: 128 actions are under way'])
    expect(await other.ask('__ping')).toMatchObject({ code: 0 })
    expect(flood).toHaveLength(128)
  })

  test('are cancelled when their client is gone, and only those', async () => {
    const { exec, signals, cancelled } = endless()
    const { dial } = await open({ exec })
    const [client, other] = [await dial(), await dial()]
    void client.ask('box_exec', SPEC, CONTEXT)
    await expect.poll(() => signals).toHaveLength(1)
    void other.ask('box_exec', SPEC, CONTEXT)
    await expect.poll(() => signals).toHaveLength(2)
    await client.leave()
    await cancelled
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(await other.ask('__ping')).toMatchObject({ code: 0 })
  })

  test('with a bug in them tell nothing of it but to the log', async () => {
    const { dial, logged } = await open({ exec: async () => Promise.reject(new Error('secret /srv/path')) })
    const { message } = await (await dial()).ask('box_exec', SPEC, CONTEXT)
    expect(message).toBe('BoxError: this is a bug of the server; its log has the cause')
    expect(logged.join('')).toContain('secret /srv/path')
  })

  test('whose answer is above 16 MiB fail in words', async () => {
    const { dial } = await open({ exec: async () => ({ ...RESULT, stdout: 'é'.repeat(8 * 1024 * 1024) }) })
    expect(await (await dial()).ask('box_exec', SPEC, CONTEXT)).toMatchObject({
      code: 1,
      message: expect.stringMatching(/^BoxError: the answer is larger/) as string,
    })
  })

  test('without a context are served where one workspace is known, for commands only', async () => {
    const { dial, runtime } = await open()
    const client = await dial()
    expect(await client.ask('box_exec', SPEC)).toMatchObject({ message: expect.stringMatching(/^PermissionError: /) as string })
    await client.ask('box_status', {}, CONTEXT)
    expect(await client.ask('box_exec', SPEC)).toMatchObject({ code: 0 })
    expect(runtime.asked.at(-1)).toMatchObject({ method: 'exec', workspace: 'ws-A' })
    await client.ask('box_status', {}, { ...CONTEXT, workspace_uuid: 'ws-B' })
    expect(await client.ask('box_exec', SPEC)).toMatchObject({ message: expect.stringMatching(/^PermissionError: /) as string })
  })
})

describe('what a client must not send', () => {
  test('is passed over where it is no request', async () => {
    const { dial } = await open()
    const client = await dial()
    for (const text of [
      '',
      'x',
      '[]',
      'null',
      '"__ping"',
      '{"seq_id":1}',
      '{"seq_id":1,"code":0,"action":"__ping","data":{}}',
      '{"action"',
    ])
      client.say(text)
    expect(await client.ask('__ping')).toMatchObject({ code: 0 })
    expect(client.heard).toHaveLength(1)
  })

  test('ends its own conversation where it is binary or above 16 MiB', async () => {
    const { dial } = await open()
    const [binary, large, other] = [await dial(), await dial(), await dial()]
    binary.socket.send(Buffer.from('{"seq_id":1,"action":"__ping","data":{}}'))
    expect(await binary.closed).toBe(1000)
    large.socket.send('x'.repeat(16 * 1024 * 1024 + 1))
    expect(await large.closed).toBe(1009)
    expect(await other.ask('__ping')).toMatchObject({ code: 0 })
  })

  test('is taken in fragments of up to 16 MiB together', async () => {
    const { dial, runtime } = await open()
    const client = await dial()
    const frame = JSON.stringify({ seq_id: 9, action: 'box_exec', data: { ...SPEC, env: { A: 'é'.repeat(1_000_000) } }, context: CONTEXT })
    const bytes = Buffer.from(frame)
    for (let at = 0; at < bytes.length; at += 65_536)
      client.socket.send(bytes.subarray(at, at + 65_536), { fin: at + 65_536 >= bytes.length, binary: false })
    await expect.poll(() => runtime.asked.at(-1)?.method).toBe('exec')
  })

  test('never ends the conversation or gets no answer, whatever it is', async () => {
    const { dial } = await open()
    const client = await dial()
    const value = fc.oneof(
      fc.json().map((text) => JSON.parse(text) as unknown),
      fc.constantFrom('box_exec', '__ping', '__file_chunk', 's1', 1, -1, {}, []),
    )
    const frames = fc.record(
      {
        seq_id: value,
        action: fc.oneof(
          fc.constantFrom('box_exec', '__file_chunk', 'box_init', 'box_create_skill', 'box_install_skill_zip', 'box_get_session'),
          value,
        ),
        data: fc.oneof(
          value,
          fc.dictionary(
            fc.constantFrom('session_id', 'cmd', 'file_key', 'skill', 'name', 'limits', 'spec', 'chunk_index', '__proto__'),
            value,
          ),
        ),
        context: fc.oneof(fc.constant(CONTEXT), value),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(frames, { maxLength: 10 }), async (all) => {
        for (const frame of all) client.say(JSON.stringify(frame))
        expect(await client.ask('__ping')).toMatchObject({ code: 0 })
      }),
      { numRuns: 50 },
    )
    expect(client.socket.readyState).toBe(client.socket.OPEN)
  })
})

test('a door that closes tells everybody, cancels what they have under way, and takes nobody more', async () => {
  const { exec, signals } = endless()
  const { door, dial, url } = await open({ exec })
  const client = await dial()
  void client.ask('box_exec', SPEC, CONTEXT)
  await expect.poll(() => signals).toHaveLength(1)
  await door.close()
  expect(await client.closed).toBe(1001)
  expect(signals[0]?.aborted).toBe(true)
  expect(await boxRefusal(url, WITH_INSTANCE)).toMatchObject({ status: 503 })
})

test('a door closes while it is still busy with the leave of a client', async () => {
  const { exec, signals } = endless()
  const slow = Promise.withResolvers<void>()
  const lingering: BoxRuntime['exec'] = async (...call) => {
    const [outcome] = await Promise.allSettled([exec(...call), slow.promise])
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }
  const { door, dial } = await open({ exec: lingering })
  const client = await dial()
  void client.ask('box_exec', SPEC, CONTEXT)
  await expect.poll(() => signals).toHaveLength(1)
  await client.leave()
  await expect.poll(() => signals[0]?.aborted).toBe(true)
  const closed = door.close()
  slow.resolve()
  await closed
})

test('the section for the start is given to the runtime, and a wrong one is only told', async () => {
  const { runtime } = await open({}, { config: '{"backend":"docker"}' })
  expect(runtime.asked).toEqual([{ method: 'init', workspace: null, about: { backend: 'docker' } }])
  for (const config of ['{broken', '[]', '{"limits":{"max_sessions":-5}}']) {
    const { runtime: other, logged } = await open({}, { config })
    expect(other.asked).toEqual([])
    expect(logged.join('')).toContain('box-config-ignored')
  }
})
