/** Holdfast is killed while an MCP server in a box is used: the next one reaches the same process, and nothing is left at the end. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { McpServerView } from '@holdfast/protocol/mcp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../../test/environment/backends.ts'
import { eventually, untilHolds } from '../../../../../test/servers/eventually.ts'
import { smallServer } from './contract/small-server.ts'

const PROGRAM = join(import.meta.dirname, '..', '..', 'ingress', 'sockets', 'contract', 'server-program.ts')

for (const under of await backendsAbovePort()) {
  describe.skipIf(under.skipReason !== null)(`a killed Holdfast on ${under.kind}${because(under)}`, () => {
    let home: string
    let server: ChildProcess
    let url: string
    let key: string

    const begin = async () => {
      const { dockerSocket, image } = under.settings
      const settings = {
        ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: under.kind },
        ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: dockerSocket }),
        ...(image === undefined ? {} : { HOLDFAST_IMAGE: image }),
      }
      server = spawn(process.execPath, [PROGRAM], { env: { ...process.env, ...settings }, stdio: ['ignore', 'pipe', 'inherit'] })
      const [address] = server.stdout === null ? [] : await once(server.stdout, 'data')
      url = String(address).trim()
      key = readFileSync(join(home, 'admin.key'), 'utf8').trim()
    }
    const kill = async () => {
      server.kill('SIGKILL')
      await once(server, 'exit')
    }
    const request = (path: string, method = 'GET', body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const call = async (tool: string) => {
      const response = await request(`/v1/mcp/servers/small/tools/${tool}`, 'POST', { session: 'talk' })
      const answer = (await response.json()) as { readonly content?: readonly { readonly text: string }[] }
      return answer.content?.[0]?.text ?? JSON.stringify(answer)
    }
    const look = async () => McpServerView.parse(await (await request('/v1/mcp/servers/small')).json())
    /** As an MCP client of before asks, over the gateway. */
    const atGateway = async (message: object, session?: string) =>
      request('/mcp/small', 'POST', message, {
        accept: 'application/json, text/event-stream',
        'holdfast-session': 'talk',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      })

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-mcp-killed-'))
      await begin()
    })
    afterAll(async () => {
      try {
        await endAll()
      } finally {
        await kill()
      }
      rmSync(home, { recursive: true, force: true })
    })
    async function endAll(): Promise<void> {
      await request('/v1/mcp/servers/small', 'DELETE')
      for (const { id } of ((await (await request('/v1/sessions')).json()) as { items: { id: string }[] }).items) {
        await request(`/v1/sessions/${id}/cancel`, 'POST', {})
        const state = async () => ((await (await request(`/v1/sessions/${id}`)).json()) as { readonly state: string }).state
        await untilHolds(async () => expect(await state()).toBe('cancelled'))
      }
    }

    test('the same process answers again, with what it remembers, over REST and over the gateway', async () => {
      expect((await request('/v1/mcp/servers/small', 'PUT', smallServer({ env: { TOKEN: 'x' } }))).status).toBe(201)
      const pid = await call('pid')
      const [{ pid: told, session_id: session } = { pid: null, session_id: null }] = (await look()).runs
      expect(Number(pid)).toBeGreaterThan(0)
      const traffic = Promise.allSettled(Array.from({ length: 20 }, () => call('count')))
      await call('count')
      await kill()
      await traffic
      await begin()
      expect(await call('pid')).toBe(pid)
      const [run] = (await look()).runs
      expect(run).toMatchObject({ state: 'ready', pid: told, session_id: session, attempts: 0, server_info: { name: 'small' } })
      expect(Number(await call('count'))).toBeGreaterThan(2)

      const clientInfo = { name: 'test', version: '1' }
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
      const greeted = await atGateway({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
      expect(greeted.status).toBe(200)
      const id = greeted.headers.get('mcp-session-id') ?? ''
      const asked = await atGateway({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'pid', arguments: {} } }, id)
      expect(await asked.text()).toContain(`"text":"${pid}"`)
    })

    test('its tools stand beside our own, under its name, in the same conversation', async () => {
      const ask = async (method: string, params: object = {}) => {
        const headers = { accept: 'application/json, text/event-stream', 'holdfast-session': 'talk' }
        return (await request('/mcp', 'POST', { jsonrpc: '2.0', id: 1, method, params }, headers)).text()
      }
      const listed = await ask('tools/list')
      expect(listed).toContain('"small__pid"')
      expect(listed).toContain('"exec"')
      expect(await ask('tools/call', { name: 'small__pid', arguments: {} })).toContain(`"text":"${await call('pid')}"`)
    })

    test('killed in the middle of a start, the next one begins it anew and leaves nothing of the first', async () => {
      await request('/v1/mcp/servers/small', 'PUT', smallServer({ env: { MOOD: 'hangs' } }))
      const starting = call('pid').catch(() => null)
      await eventually(async () => (await look()).runs[0]?.phase).toBe('mcp_init')
      await kill()
      await starting
      await begin()
      await request('/v1/mcp/servers/small', 'PUT', smallServer())
      expect(Number(await call('pid'))).toBeGreaterThan(0)
      const listed = await request('/v1/exec', 'POST', { session: 'talk', command: 'ps ax -o args | grep -c "^python3 -u"' })
      expect(((await listed.json()) as { readonly stdout: string }).stdout.trim()).toBe('1')
    })
  })
}
