/**
 * A whole server on one backend with published MCP servers in it, as its clients and its callers meet it.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { ExecResult } from '@holdfast/protocol'
import { McpServerView } from '@holdfast/protocol/mcp'
import { startServer } from '../../../packages/server/src/app.ts'
import { loadConfig } from '../../../packages/server/src/config.ts'
import { processesOf } from '../../../packages/server/src/sandboxes/contract/traces.ts'
import { jsonLog } from '../../../packages/server/src/telemetry/log.ts'
import type { BackendUnderTest } from '../../environment/machine.ts'
import type { McpClient, PublishedMcpClient } from './mcp-client.ts'
import { layOut, TREE_IN_BOX } from './published-servers.ts'
import type { ServerFiles } from './published-servers.ts'

const GUEST = join(import.meta.dirname, '..', '..', '..', 'guest', 'build', 'holdfast-guest')
const UNLIMITED = { HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: 'none', HOLDFAST_RATE_LIMITS_FAILURES_PER_SECOND: 'none' }
const READY_MS = 30_000

export interface GatewayWorld {
  /** Makes a conversation that sees the tree of the Node servers. */
  converse(key: string): Promise<void>
  /** Has a server ready, with what it needs installed. */
  start(server: string, key: string): Promise<void>
  /** What a shell line prints in a conversation. */
  sh(key: string, command: string): Promise<string>
  /** `null`: at `/mcp`, where all servers are. */
  connect(client: PublishedMcpClient, server: string | null, key: string): Promise<McpClient>
  look(server: string): Promise<McpServerView>
  remove(server: string): Promise<void>
  release(key: string): Promise<void>
  /** Processes on the host that belong to its sandboxes. */
  processes(): readonly string[]
  close(): Promise<void>
}

export async function openGatewayWorld({ kind, settings }: BackendUnderTest, files: ServerFiles): Promise<GatewayWorld> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-mcp-')))
  const projects = join(directory, 'projects')
  mkdirSync(projects)
  const { tree, servers } = layOut(projects, files)
  // A copy of its own makes every process of its sandboxes recognisable by its mounts.
  mkdirSync(join(directory, 'programs'))
  const guestPath = join(directory, 'programs', 'guest')
  copyFileSync(GUEST, guestPath)
  const { dockerSocket, image } = settings
  const config = loadConfig(
    {},
    {
      ...{ HOLDFAST_HOME: join(directory, 'home'), HOLDFAST_PORT: '0', HOLDFAST_BACKEND: kind, HOLDFAST_GUEST_PATH: guestPath },
      HOLDFAST_MOUNTS_ALLOWED_ROOTS: projects,
      ...UNLIMITED,
      ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: dockerSocket }),
      ...(image === undefined ? {} : { HOLDFAST_IMAGE: image }),
    },
  )
  const server = await startServer(
    config,
    jsonLog('error', (line) => process.stderr.write(line)),
  )
  const key = readFileSync(join(directory, 'home', 'admin.key'), 'utf8').trim()
  const headers = { authorization: `Bearer ${key}` }
  const sessions = new Map<string, string>()

  async function rest(path: string, method = 'GET', body?: unknown): Promise<unknown> {
    const response = await fetch(`${server.url}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`)
    return text === '' ? null : JSON.parse(text)
  }
  await rest('/v1/mcp/servers', 'POST', { mcpServers: servers })

  return {
    async converse(name) {
      const mounts = [{ source: tree, target: TREE_IN_BOX, mode: 'ro' }]
      const { id } = (await rest('/v1/sessions', 'POST', { key: name, mounts, wait_ms: READY_MS })) as { readonly id: string }
      sessions.set(name, id)
    },
    start: async (name, conversation) => void (await rest(`/v1/mcp/servers/${name}/start`, 'POST', { session: conversation })),
    async sh(name, command) {
      const { stdout, stderr, exit_code: code } = ExecResult.parse(await rest('/v1/exec', 'POST', { session: name, command }))
      if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`)
      return stdout
    },
    connect: (client, name, conversation) =>
      client.open(`${server.url}/mcp${name === null ? '' : `/${name}`}?session=${conversation}`, headers),
    look: async (name) => McpServerView.parse(await rest(`/v1/mcp/servers/${name}`)),
    remove: async (name) => void (await rest(`/v1/mcp/servers/${name}`, 'DELETE')),
    release: async (name) => void (await rest(`/v1/sessions/${sessions.get(name)}/release`, 'POST', { if_busy: 'kill' })),
    processes: () => processesOf(basename(directory)).map(({ command }) => command),
    async close() {
      await server.close()
      const { backend } = server.chosen
      for (const { name } of await backend.list()) await backend.destroy(name)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
