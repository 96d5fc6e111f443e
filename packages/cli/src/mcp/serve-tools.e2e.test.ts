/** `holdfast mcp serve`, as the official clients of both protocol eras start it beside a real server. */
import { once } from 'node:events'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { TOOL_NAMES } from '@holdfast/protocol'
import { Holdfast } from '@holdfast/sdk'
import { afterEach, describe, expect, test } from 'vitest'
import { PROGRAM } from '../../../../test/environment/holdfast-program.ts'
import { onBubblewrap } from '../contract/on-bubblewrap.ts'
import type { RealServer } from '../contract/real-server.ts'

const INFO = { name: 'test', version: '1.0.0' }
const OPEN = ['pending', 'idle', 'active', 'suspended'] as const

interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: (told: { readonly progress: number; readonly message?: string | undefined }) => void
}

interface StdioClient {
  /** Whether it is told when the tools change. */
  readonly hearsChanges: boolean | undefined
  names(): Promise<readonly string[]>
  call(name: string, input: Record<string, unknown>, options?: CallOptions): Promise<Record<string, unknown>>
  close(): Promise<void>
}

function started({ environment }: RealServer, flags: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const env = Object.fromEntries(
    Object.entries({ ...environment, ...more }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  return { command: process.execPath, args: [PROGRAM, 'mcp', 'serve', ...flags], env, stderr: 'ignore' as const }
}

function faceOf(client: LegacyClient | ModernClient): StdioClient {
  return {
    hearsChanges: client.getServerCapabilities()?.tools?.listChanged,
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, input, options = {}) {
      const request = { name, arguments: input }
      const result =
        client instanceof LegacyClient ? await client.callTool(request, undefined, options) : await client.callTool(request, options)
      return { ...(result.structuredContent as object), isError: result.isError === true }
    },
    close: () => client.close(),
  }
}

const CLIENTS = {
  async '2025-11-25'(...start: Parameters<typeof started>) {
    const client = new LegacyClient(INFO)
    await client.connect(new LegacyStdio(started(...start)))
    return faceOf(client)
  },
  async '2026-07-28'(...start: Parameters<typeof started>) {
    const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await client.connect(new ModernStdio(started(...start)))
    return faceOf(client)
  },
}

onBubblewrap('holdfast mcp', (stage) => {
  const opened: StdioClient[] = []
  afterEach(async () => {
    for (const client of opened.splice(0)) await client.close()
  })
  const admin = () => new Holdfast({ url: stage().server.url, apiKey: stage().server.environment['HOLDFAST_API_KEY'] })
  const openKeys = async () => (await admin().sessions.list({ state: OPEN }).take(100)).map(({ key }) => key)

  describe.each(Object.entries(CLIENTS))('to a client of %s', (era, openClient) => {
    async function open(flags: readonly string[] = [], environment: NodeJS.ProcessEnv = {}): Promise<StdioClient> {
      const client = await openClient(stage().server, flags, environment)
      opened.push(client)
      return client
    }

    test('every tool is listed and works; a later call sees what an earlier one made', async () => {
      const client = await open(['--session', `all-${era}`])
      expect(await client.names()).toEqual([...TOOL_NAMES, 'session_status', 'session_reset'])
      expect(client.hearsChanges).toBe(false)
      expect(await client.call('write', { path: 'a.txt', content: 'one\ntwo\n' })).toMatchObject({ ok: true })
      expect(await client.call('edit', { path: 'a.txt', old_string: 'two', new_string: 'three' })).toMatchObject({ ok: true })
      expect(await client.call('read', { path: 'a.txt' })).toMatchObject({ ok: true, end_line: 2 })
      expect(await client.call('glob', { pattern: '*.txt' })).toMatchObject({ total: 1 })
      expect(await client.call('grep', { pattern: 'thr' })).toMatchObject({ matches: [{ line: 2 }] })
      expect(await client.call('exec', { command: 'cat a.txt; exit 3' })).toMatchObject({
        stdout: 'one\nthree\n',
        exit_code: 3,
        isError: false,
      })
      const skill = `skill-${era}`
      await client.call('write', { path: 's/SKILL.md', content: `---\nname: ${skill}\ndescription: a test\n---\nDo it.\n` })
      expect(await client.call('register_skill', { path: 's' })).toMatchObject({ ok: true, skill_name: skill })
      expect(await client.call('activate', { skill_name: skill })).toMatchObject({ ok: true })
      const start = 'python3 -u -m http.server 8000 > log 2>&1 & until grep -q Serving log; do sleep 0.02; done'
      expect(await client.call('preview', { port: 8000 })).toMatchObject({ isError: true, error: expect.stringContaining('start the app') })
      await client.call('exec', { command: start })
      expect(await client.call('preview', { port: 8000, path: '/a.txt' })).toMatchObject({
        ...{ ok: true, status: 200, text: 'one\nthree\n', isError: false, url: expect.stringMatching(/\.localhost:\d+\/a\.txt$/) },
      })
      expect(await client.call('session_status', {})).toMatchObject({ ok: true, workspace: 'intact' })
      expect(await client.call('session_reset', {})).toMatchObject({ ok: true })
      expect(await client.call('read', { path: 'a.txt' })).toMatchObject({ ok: false, isError: true })
      await expect(client.call('format_disk', {})).rejects.toThrow("there is no tool 'format_disk'")
    })

    test('each program has a sandbox of its own, which ends with it; a named one stays and is found again', async () => {
      const before = await openKeys()
      const [one, other] = [await open(), await open()]
      await one.call('write', { path: 'mine.txt', content: 'x' })
      expect(await other.call('read', { path: 'mine.txt' })).toMatchObject({ isError: true })
      const flags = ['--scope', 'chat', '--var', 'launcher_type=group', '--var', `launcher_id=${era}`]
      const named = await open(flags)
      await named.call('write', { path: 'kept.txt', content: 'x' })
      for (const client of [one, other, named]) await client.close()
      expect(new Set(await openKeys())).toEqual(new Set([...before, `group_${era}`]))
      expect(await (await open(flags)).call('read', { path: 'kept.txt' })).toMatchObject({ isError: false })
    })

    test('a model cannot choose a session', async () => {
      const client = await open(['--session', `strict-${era}`])
      for (const name of ['exec', 'session_status', 'session_reset'])
        expect(
          await client.call(name, { ...(name === 'exec' ? { command: 'true' } : {}), session_id: 'ses_0000000000000000' }),
        ).toMatchObject({
          isError: true,
          error: 'session_id: is not a known field',
        })
    })

    test('cancelling a call ends its command with everything it started', async () => {
      const client = await open(['--session', `cancelled-${era}`])
      await client.call('exec', { command: 'mkfifo alive started' })
      const session = await admin().sessions.getOrCreate({ key: `cancelled-${era}` })
      // Ends when nobody of the command's tree is left to write.
      const ended = session.commands.run('cat alive')
      const leaving = new AbortController()
      const call = client.call('exec', { command: 'exec 3> alive; sleep 1000 & echo > started; wait' }, { signal: leaving.signal })
      const gone = call.then(
        () => 'answered',
        () => 'cancelled',
      )
      await session.commands.run('read line < started')
      leaving.abort()
      expect(await gone).toBe('cancelled')
      expect(await ended).toMatchObject({ status: 'completed' })
    })

    test('a client that asks for progress hears what a command prints while it runs', async () => {
      const client = await open(['--session', `heard-${era}`])
      const session = await admin().sessions.getOrCreate({ key: `heard-${era}` })
      await session.commands.run('mkfifo go1 go2')
      const heard: object[] = []
      const onprogress = ({ progress, message }: { readonly progress: number; readonly message?: string | undefined }) => {
        heard.push({ progress, message })
        // The command waits for this after each line: all of them were heard before its end.
        void session.commands.run(`echo > go${heard.length}`)
      }
      const told = await client.call('exec', { command: 'echo one; read line < go1; echo two >&2; read line < go2' }, { onprogress })
      expect(told).toMatchObject({ ok: true, stdout: 'one\n', stderr: 'two\n' })
      expect(heard).toEqual([
        { progress: 1, message: 'one' },
        { progress: 2, message: 'two' },
      ])
    })

    test('a viewer may not use the tools', async () => {
      const { key } = await admin().keys.create({ name: `vera-${era}`, subject: 'vera', role: 'viewer' })
      const client = await open(['--session', 'looked-at'], { HOLDFAST_API_KEY: key })
      expect(await client.call('exec', { command: 'true' })).toMatchObject({ isError: true, code: 'forbidden' })
    })
  })

  test('with a wrong key, or without a server, it ends at once and says why, on stderr alone', async () => {
    const wrong = await stage().server.holdfast(['mcp', 'serve'], '', { HOLDFAST_API_KEY: 'hf_wrong' })
    expect(wrong).toMatchObject({ stdout: '', stderr: expect.stringContaining('HOLDFAST_API_KEY') as string })
    expect(wrong.code).not.toBe(0)
    const nobody = await stage().server.holdfast(['mcp', 'serve', '--url', 'http://127.0.0.1:1'])
    expect(nobody).toMatchObject({ stdout: '', stderr: expect.stringContaining('holdfast up') as string })
  })

  test('a signal ends it as the end of its input does: what runs is killed, and its session ends', async () => {
    const before = await openKeys()
    const child = stage().server.start(['mcp', 'serve'])
    const exited = once(child, 'exit')
    const answers = child.stdout?.setEncoding('utf8')[Symbol.asyncIterator]()
    const say = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO } })
    await answers?.next()
    say({ method: 'notifications/initialized' })
    say({ id: 2, method: 'tools/call', params: { name: 'write', arguments: { path: 'a', content: 'x' } } })
    await answers?.next()
    expect(await openKeys()).toHaveLength(before.length + 1)
    child.kill('SIGTERM')
    await exited
    expect(await openKeys()).toEqual(before)
  })
})
