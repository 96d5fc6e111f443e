/** The REST door: what it lets in, how it answers, how it refuses. Behind it stands a stand-in that prints what it is given. */
import { ExecResult, HoldfastError } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { createAuthenticator } from '../../access/authenticate.ts'
import { callerOf } from '../../access/authorize.ts'
import { clientAddresses } from '../../access/client-address.ts'
import { hostCheck } from '../../access/listen-address.ts'
import type { OutputChunk } from '../../guest/inside.ts'
import { configuredOnly } from '../../policy/contract/configured-only.ts'
import { createPipelines } from '../../policy/pipelines.ts'
import { createProfiles } from '../../policy/profiles.ts'
import { scopePolicy } from '../../policy/scopes/scope-policy.ts'
import type { CommandEnd } from '../../sessions/executions/executions.ts'
import type { Running, RunRequest, Target } from '../../sessions/running.ts'
import { jsonLog } from '../../telemetry/log.ts'
import { restDoor } from './door.ts'
import { execRoutes } from './exec-route.ts'
import { healthRoutes } from './health-routes.ts'

const KEY = 'the-key-of-this-test'
const profiles = createProfiles({ usual: null, image: null, custom: [] })
const { pipelines } = configuredOnly(
  profiles,
  createPipelines({ settings: { support: { scope: '{sender_id}', profile: 'network_basic' } }, profiles }),
)
const COMPLETED: CommandEnd = { exitCode: 0, signal: null, status: 'completed', durationMs: 3 }

interface Script {
  readonly chunks?: readonly (readonly [channel: 'stdout' | 'stderr', bytes: Buffer])[]
  readonly end?: CommandEnd
  readonly failure?: Error
  readonly lateFailure?: Error
}

const steadyClock = { now: Date.now, wall: Date.now, jump: () => null, confirm: () => false }

function door(script: Script = {}) {
  const calls: { target: Target; request: RunRequest; owner: string }[] = []
  const lines: string[] = []
  const commands: Pick<Running, 'run' | 'resume'> = {
    async run(caller, target, request, _signal, attend) {
      calls.push({ target, request, owner: caller.owner })
      if (script.failure !== undefined) throw script.failure
      return attend({
        executionId: 'exe_1',
        timeoutMs: request.command.timeoutMs ?? request.usualTimeoutMs ?? null,
        session: { id: 'ses_1', key: 'id' in target ? 'k' : target.key.key, incarnation: 1, workspace: 'intact' },
        finish: (onChunk) => play(script, onChunk),
      })
    },
    resume: async () => null,
  }
  const app = restDoor({
    routes: [
      ...execRoutes({ commands, scopes: scopePolicy({}), pipelines }),
      ...healthRoutes({
        health: () => ({ version: '1.2', backend: 'bubblewrap', backend_version: '0.8' }),
        checkReady: async () => {},
        steadyClock,
      }),
    ],
    authenticate: createAuthenticator({
      adminKey: { matches: (candidate) => candidate === KEY },
      keys: { find: async () => null },
      tenants: { idOf: async () => null },
    }),
    callerOf: async (principal) => callerOf(principal, { admin_exec: false }),
    admit: () => {},
    clientAddress: clientAddresses([]),
    checkHost: hostCheck('127.0.0.1'),
    allowedOrigins: new Set(),
    idempotency: {
      once: async (_request, perform) => ({ reply: await perform({ executionId: 'exe_claimed', isTakenOver: false }), isRepeated: false }),
    },
    log: jsonLog('debug', (line) => lines.push(line)),
  })
  const send = (path: string, init: Omit<RequestInit, 'headers'> & { readonly headers?: Record<string, string> } = {}) =>
    app.request(`http://127.0.0.1:5410${path}`, { ...init, headers: { host: '127.0.0.1:5410', ...init.headers } })
  const exec = (body: unknown, headers: Record<string, string> = {}) =>
    send('/v1/exec', {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'x-api-key': KEY, ...headers },
    })
  return { send, exec, calls, lines }
}

async function play(
  { chunks = [], end = COMPLETED, lateFailure }: Script,
  onChunk: (chunk: OutputChunk) => void | Promise<void>,
): Promise<CommandEnd> {
  let seq = 0
  for (const [channel, bytes] of chunks) {
    seq += bytes.length
    await onChunk({ channel, bytes, seq })
  }
  if (lateFailure !== undefined) throw lateFailure
  return end
}

describe('who may enter', () => {
  test('health needs no key and names the server and its backend', async () => {
    const response = await door().send('/healthz')
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ status: 'ok', version: '1.2', backend: 'bubblewrap', backend_version: '0.8' })
  })

  test.each([
    ['no key', {}],
    ['a wrong key', { 'x-api-key': 'wrong' }],
    ['a wrong bearer', { authorization: 'Bearer wrong' }],
    ['another scheme', { authorization: `Basic ${KEY}` }],
  ])('%s is 401, before the body is looked at', async (_name, headers) => {
    const { send, calls } = door()
    const response = await send('/v1/exec', { method: 'POST', body: '{', headers })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    expect(await response.json()).toMatchObject({ code: 'unauthorized' })
    expect(calls).toEqual([])
  })

  test('the key is accepted as a bearer token and as X-API-Key', async () => {
    const { send } = door()
    for (const headers of [{ authorization: `Bearer ${KEY}` }, { 'x-api-key': KEY }]) {
      const response = await send('/v1/exec', { method: 'POST', body: '{"session":"s","command":"true"}', headers })
      expect(response.status).toBe(200)
    }
  })

  test('a rebound host name is 403, on health too', async () => {
    const response = await door().send('/healthz', { headers: { host: 'evil.example' } })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ code: 'host_refused' })
  })

  test('an unknown path below /v1 says nothing to a stranger', async () => {
    expect((await door().send('/v1/anything')).status).toBe(401)
  })
})

describe('what exec takes', () => {
  test('a command is run by a shell, argv as it is', async () => {
    const { exec, calls } = door()
    await exec({ session: 's', command: 'echo $HOME', timeout_ms: 5, network: 'on' })
    await exec({ session: 's', argv: ['echo', '$HOME'], cwd: '/tmp', env: { A: '1' }, stdin: 'x' })
    expect(calls[0]).toMatchObject({
      owner: 'admin',
      target: { key: { key: 's' }, wish: { network: 'on' } },
      request: { command: { argv: ['/bin/sh', '-c', 'echo $HOME'], timeoutMs: 5 } },
    })
    expect(calls[1]?.request).toMatchObject({
      command: { argv: ['echo', '$HOME'], cwd: '/tmp', env: { A: '1' }, stdin: 'x', timeoutMs: undefined },
      usualTimeoutMs: 120_000,
    })
    expect(calls[0]?.request.usualTimeoutMs).toBeUndefined()
  })

  test('a pipeline gives the scope, unless the request has one or a key of its own', async () => {
    const { exec, calls } = door()
    const variables = { sender_id: 'ana', launcher_type: 'group', launcher_id: 7 }
    await exec({ pipeline: 'support', variables, command: 'true' })
    await exec({ pipeline: 'support', missing: 'unknown', command: 'true' })
    await exec({ pipeline: 'support', scope: 'chat', variables, command: 'true' })
    await exec({ pipeline: 'support', session: 'mine', command: 'true' })
    const keys = calls.map(({ target }) => ('id' in target ? null : target.key.key))
    expect(keys).toEqual(['ana', 'unknown', 'group_7', 'mine'])
    expect(calls[0]?.target).toMatchObject({ wish: { pipeline: 'support' } })
  })

  test('a pipeline that is not configured is refused with those that are', async () => {
    const { exec, calls } = door()
    const response = await exec({ pipeline: 'sales', command: 'true' })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      code: 'pipeline_unknown',
      title: "pipeline: there is no pipeline 'sales'; configured are support",
    })
    expect(calls).toEqual([])
  })

  test('everything that shapes a sandbox is passed on', async () => {
    const { exec, calls } = door()
    const wish = {
      ...{ profile: 'default', image: 'i', network: 'on', rootfs: 'writable', limits: { workspace_bytes: 1048576 } },
      workspace: { source: '/srv/a', mode: 'ro', target: '/mnt/a' },
      mounts: [{ source: '/srv/b', target: '/mnt/b', mode: 'rw' }],
    }
    await exec({ session: 's', command: 'true', ...wish })
    expect(calls[0]?.target).toMatchObject({ wish })
  })

  test('a session is named by its id, by a key, or by a scope and its variables', async () => {
    const { exec, calls } = door()
    await exec({ session_id: 'ses_1', command: 'true', expected_incarnation: 3 })
    await exec({ scope: 'chat', variables: { launcher_type: 'group', launcher_id: 123456 }, command: 'true' })
    await exec({ variables: { launcher_type: 'group', launcher_id: '123456' }, command: 'true' })
    await exec({ session: 'group_123456', command: 'true' })
    expect(calls[0]).toMatchObject({ target: { id: 'ses_1' }, request: { expectedIncarnation: 3 } })
    const keys = calls.slice(1).map(({ target }) => ('id' in target ? null : target.key))
    expect(keys.map((key) => key?.key)).toEqual(['group_123456', 'group_123456', 'group_123456'])
    expect(keys[0]?.keyHash).toBe(keys[1]?.keyHash)
    expect(keys[0]?.keyHash).not.toBe(keys[2]?.keyHash)
  })

  test('a service speaks for a user, who then owns what is made', async () => {
    const { exec, calls } = door()
    await exec({ session: 's', command: 'true' }, { 'x-holdfast-on-behalf-of': 'ada', 'x-holdfast-groups': 'lab, math' })
    expect(calls[0]?.owner).toBe('ada')
  })

  test.each([
    ['{', /the body is not valid JSON/],
    ['', /command: give exactly one of command/],
    ['"text"', /expected object/],
    ['[]', /expected object/],
    [{ command: 'true' }, /session: give exactly one of session \(a key\), session_id, and scope/],
    [{ session: 's', session_id: 'ses_1', command: 'true' }, /session: give exactly one of session/],
    [{ session: 5, command: 'true' }, /session: must be a string/],
    [{ pipeline: 'support', command: 'true' }, /variables\.sender_id: is missing; the scope '\{sender_id\}' needs it/],
    [{ scope: 'nothing', command: 'true' }, /scope: must be one of global, chat/],
    [
      { scope: 'chat', variables: { launcher_id: '1' }, expected_incarnation: 0, command: 'true' },
      /expected_incarnation: must be at least 1/,
    ],
    [{ session: '', command: 'true' }, /session: must not be empty/],
    [{ session: 'x'.repeat(1025), command: 'true' }, /session: must be at most 1024/],
    [{ session: 's' }, /command: give exactly one of command/],
    [{ session: 's', command: 'a', argv: ['a'] }, /command: give exactly one of command/],
    [{ session: 's', argv: [] }, /argv: must name at least the program/],
    [{ session: 's', argv: ['a\0b'] }, /argv\.0: must not contain a NUL/],
    [{ session: 's', command: 'true', comand: 'x' }, /comand: is not a known field/],
    [{ session: 's', command: 'true', cwd: 'relative' }, /cwd: must be an absolute path/],
    [{ session: 's', command: 'true', env: { 'A=B': '1' } }, /env\.A=B: /],
    [{ session: 's', command: 'true', timeout_ms: 0 }, /timeout_ms: must be at least 1/],
    [{ session: 's', command: 'true', timeout_ms: 3_600_001 }, /timeout_ms: must be at most 3600000/],
    [{ session: 's', command: 'true', network: 'maybe' }, /network: must be "off" or "on"/],
    [{ session: 's', command: 'true', limits: { memory_bytes: 1 } }, /limits\.memory_bytes: must be at least 16777216 bytes \(16 MiB\)/],
    [{ session: 's', command: 'true', limits: { cpus: 0 } }, /limits\.cpus: must be at least 0\.01/],
    [{ session: 's', command: 'true', limits: { pids: 7 } }, /limits\.pids: must be at least 8/],
    [{ session: 's', command: 'true', limits: { disk: 7 } }, /limits\.disk: is not a known field/],
    [{ session: 's', command: 'true', limits: { workspace_bytes: 1 } }, /limits\.workspace_bytes: must be at least 1048576/],
    [{ session: 's', command: 'true', profile: 'No Profile' }, /profile: must be 1 to 63 of/],
    [{ session: 's', command: 'true', rootfs: 'rw' }, /rootfs: must be "read-only" or "writable"/],
    [{ session: 's', command: 'true', workspace: { source: 'relative' } }, /workspace\.source: must be an absolute path of the host/],
    [{ session: 's', command: 'true', workspace: { target: '/mnt' } }, /workspace\.target: goes with a source/],
    [{ session: 's', command: 'true', mounts: [{ source: '/a', target: '/b', mode: 'none' }] }, /mounts\.0\.mode: must be "rw" or "ro"/],
    [
      { session: 's', command: 'true', mounts: Array.from({ length: 65 }, () => ({ source: '/a', target: '/b', mode: 'ro' })) },
      /mounts: must be at most 64/,
    ],
    [{ session: 's', scope: 'chat', pipeline: 'support', command: 'true' }, /session: give exactly one of session/],
  ])('%j is 400 with a sentence, and runs nothing', async (body, sentence) => {
    const { exec, calls } = door()
    const response = await exec(body)
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toMatchObject({
      type: 'urn:holdfast:error:invalid_request',
      code: 'invalid_request',
      status: 400,
      title: expect.stringMatching(sentence),
      hint: expect.stringMatching(/\w/),
      request_id: expect.stringMatching(/^req_/),
    })
    expect(calls).toEqual([])
  })

  test.each(
    Object.entries({
      ...{ profile: 'default', pipeline: 'support', image: 'alpine', network: 'on', rootfs: 'writable' },
      ...{ workspace: { mode: 'ro' }, mounts: [], limits: {} },
    }),
  )('%s is refused by its name with the id of a session, which has its own, and not with a key', async (field, value) => {
    const { exec, calls } = door()
    const response = await exec({ session_id: 'ses_1', command: 'true', [field]: value })
    expect(response.status).toBe(400)
    const problem = expect.stringContaining('leave it out with session_id') as string
    expect(await response.json()).toMatchObject({ code: 'invalid_request', details: { problems: [{ field, problem }] } })
    expect(calls).toEqual([])
    expect((await exec({ session_id: 'ses_1', command: 'true' })).status).toBe(200)
    expect(await (await exec({ session: 's', command: 'true', [field]: value })).text()).not.toContain('leave it out')
  })

  test('a body that is not text is 400, and runs nothing', async () => {
    const { send, calls } = door()
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])
    for (const more of [{}, { 'content-length': '5' }]) {
      const response = await send('/v1/exec', { method: 'POST', body, headers: { 'x-api-key': KEY, ...more } })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ title: 'the body is not valid UTF-8' })
    }
    expect(calls).toEqual([])
  })

  test('a body above 2 MiB is 413, announced or not', async () => {
    const { exec, send, calls } = door()
    const large = JSON.stringify({ session: 's', command: 'true', stdin: 'x'.repeat(2 * 1024 * 1024) })
    const announced = await exec(large, { 'content-length': String(large.length) })
    expect(announced.status).toBe(413)
    const chunks = new ReadableStream({ start: (controller) => (controller.enqueue(Buffer.from(large)), controller.close()) })
    const unannounced = await send('/v1/exec', {
      method: 'POST',
      body: chunks,
      duplex: 'half',
      headers: { 'x-api-key': KEY, 'transfer-encoding': 'chunked' },
    })
    expect(unannounced.status).toBe(413)
    expect(await unannounced.json()).toMatchObject({ code: 'payload_too_large' })
    expect(calls).toEqual([])
  })
})

describe('what exec answers', () => {
  test('one JSON document with both streams apart and the end', async () => {
    const { exec } = door({
      chunks: [
        ['stdout', Buffer.from('out')],
        ['stderr', Buffer.from('err')],
      ],
      end: { ...COMPLETED, exitCode: 7 },
    })
    expect(await (await exec({ session: 'k', command: 'x' })).json()).toEqual({
      exit_code: 7,
      signal: null,
      status: 'completed',
      stdout: 'out',
      stderr: 'err',
      stdout_truncated: false,
      stderr_truncated: false,
      duration_ms: 3,
      timeout_ms: 120_000,
      cause: null,
      session: { id: 'ses_1', key: 'k', incarnation: 1, workspace: 'intact' },
      execution_id: 'exe_1',
    })
  })

  test('output that was lost with the contact to the sandbox counts as cut', async () => {
    const { exec } = door({ end: { ...COMPLETED, skippedBytes: 5 } })
    expect(await (await exec({ session: 'k', command: 'x' })).json()).toMatchObject({ stdout_truncated: true, stderr_truncated: true })
  })

  test('a stream above 1 MiB is cut and says so; the other one is whole', async () => {
    const { exec } = door({
      chunks: [
        ['stdout', Buffer.alloc(1024 * 1024 + 1, 'a')],
        ['stderr', Buffer.from('e')],
      ],
    })
    const result = ExecResult.parse(await (await exec({ session: 'k', command: 'x' })).json())
    expect(result).toMatchObject({ stdout_truncated: true, stderr_truncated: false, stderr: 'e' })
    expect(result.stdout.length).toBe(1024 * 1024)
  })

  test('a known failure is its row of the table, with retry advice', async () => {
    const response = await door({ failure: new HoldfastError('capacity_exhausted', 'all 2 places are taken', { limit: 2 }) }).exec({
      session: 's',
      command: 'x',
    })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toMatchObject({ code: 'capacity_exhausted', title: 'all 2 places are taken', details: { limit: 2 } })
  })

  test('an unknown failure is a bare 500 whose cause is only in the log, under the request id', async () => {
    const { exec, lines } = door({ failure: new Error('secret path') })
    const response = await exec({ session: 's', command: 'x' })
    const text = await response.text()
    expect(response.status).toBe(500)
    expect(text).not.toContain('secret')
    const logged = lines.map((line) => JSON.parse(line)).find(({ event }) => event === 'request-failed')
    expect(logged).toMatchObject({ request_id: JSON.parse(text).request_id, error: 'secret path' })
  })

  test('an unknown path is a problem document too', async () => {
    const response = await door().send('/nowhere')
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ code: 'not_found', title: 'there is nothing at GET /nowhere' })
  })
})

describe('exec as a stream of events', () => {
  const stream = async (script: Script) => {
    const response = await door(script).exec({ session: 'k', command: 'x' }, { accept: 'text/event-stream' })
    return { response, events: response.ok ? parseEvents(await response.text()) : [] }
  }

  test('started, output in order, exit', async () => {
    const { response, events } = await stream({
      chunks: [
        ['stdout', Buffer.from('a\nb')],
        ['stderr', Buffer.from('c')],
      ],
    })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(events).toEqual([
      ['started', { execution_id: 'exe_1', session: expect.objectContaining({ key: 'k' }) }],
      ['stdout', { data: 'a\nb', seq: 3 }],
      ['stderr', { data: 'c', seq: 4 }],
      ['exit', expect.objectContaining({ exit_code: 0, status: 'completed', execution_id: 'exe_1' })],
    ])
  })

  test('with base64 every byte is as it was, and a command may be fed and have no end', async () => {
    const { exec, calls } = door({
      chunks: [
        ['stdout', Buffer.of(0x61, 0xff)],
        ['stderr', Buffer.of(0xc3)],
      ],
    })
    const wish = { session: 'k', command: 'x', encoding: 'base64', interactive: true, timeout_ms: null }
    const events = await (await exec(wish, { accept: 'text/event-stream' })).text()
    expect(events).toContain(`"data":"${Buffer.of(0x61, 0xff).toString('base64')}"`)
    expect(events).toContain(`"data":"${Buffer.of(0xc3).toString('base64')}"`)
    expect(calls[0]?.request.command).toMatchObject({ interactive: true, timeoutMs: undefined })
  })

  test.each([{ encoding: 'base64' }, { interactive: true }, { timeout_ms: null }])('%j is refused for one document', async (wish) => {
    const response = await door().exec({ session: 'k', command: 'x', ...wish })
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 400,
      body: { details: { problems: [{ field: Object.keys(wish)[0] }] } },
    })
  })

  test('a character cut between two chunks arrives whole, an unfinished one is replaced at the end', async () => {
    const { events } = await stream({
      chunks: [
        ['stdout', Buffer.from([0xc3])],
        ['stderr', Buffer.from('x')],
        ['stdout', Buffer.from([0xa9, 0xe2, 0x82])],
      ],
    })
    expect(events.slice(1, -1)).toEqual([
      ['stderr', { data: 'x', seq: 2 }],
      ['stdout', { data: 'é', seq: 5 }],
      ['stdout', { data: '\uFFFD', seq: 5 }],
    ])
  })

  test('a failure before the start is an ordinary problem response', async () => {
    const { response } = await stream({ failure: new HoldfastError('image_missing', 'there is no image x') })
    expect(response.status).toBe(422)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
  })

  test('a failure after the start is told in-band, and no exit is invented', async () => {
    const { events } = await stream({ chunks: [['stdout', Buffer.from('a')]], lateFailure: new HoldfastError('internal', 'broken') })
    expect(events.map(([name]) => name)).toEqual(['started', 'stdout', 'error'])
    expect(events.at(-1)?.[1]).toMatchObject({ code: 'internal', title: 'broken' })
  })
})

function parseEvents(text: string): readonly (readonly [name: string, data: unknown])[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [, name = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
      return [name, JSON.parse(data)]
    })
}
