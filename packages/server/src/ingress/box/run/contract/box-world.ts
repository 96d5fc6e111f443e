/** A real server with its Box door open, on one backend, and clients of it that speak the protocol and nothing else. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BoxExecutionResult, BoxManagedProcessInfo } from '@holdfast/protocol/box'
import { expect } from 'vitest'
import type { BackendUnderTest } from '../../../../../../../test/environment/backends.ts'
import { startServer } from '../../../../app.ts'
import type { RunningServer } from '../../../../app.ts'
import { loadConfig } from '../../../../config.ts'
import { createLog } from '../../../../telemetry/log.ts'
import { dialBox } from '../../contract/box-client.ts'
import type { BoxTestClient, Frame } from '../../contract/box-client.ts'
import { tenantOf } from '../../tenant.ts'
import { openRelay } from './relay-client.ts'
import type { RelayClient } from './relay-client.ts'

export const INSTANCE = 'inst-1'
export const CONTEXT = { instance_uuid: INSTANCE, workspace_uuid: 'ws-A', placement_generation: 1 }
export const TENANT = tenantOf(CONTEXT)
export const OTHER_CONTEXT = { ...CONTEXT, workspace_uuid: 'ws-B' }

export interface BoxWorld {
  readonly home: string
  readonly server: RunningServer
  readonly client: BoxTestClient
  readonly logged: readonly string[]
  dial(): Promise<BoxTestClient>
  /** The data of a success. */
  call(action: string, data?: object, context?: object): Promise<Record<string, unknown>>
  /** The message of a failure. */
  failure(action: string, data?: object, context?: object): Promise<string>
  exec(session: string, cmd: string, spec?: object, context?: object): Promise<BoxExecutionResult>
  launch(session: string, id: string, command: string, spec?: object): Promise<BoxManagedProcessInfo>
  look(session: string, id: string): Promise<BoxManagedProcessInfo>
  relay(session: string, id?: string): Promise<RelayClient>
  /** As the administrator. */
  rest(path: string, headers?: Readonly<Record<string, string>>): Promise<Record<string, unknown>>
  adminHeaders(): Readonly<Record<string, string>>
  /** Stops it as an operator would and starts it again. */
  restart(): Promise<void>
  close(): Promise<void>
}

export function relayHeaders(context = CONTEXT): Readonly<Record<string, string>> {
  return {
    'x-langbot-instance-id': context.instance_uuid,
    'x-langbot-workspace-id': context.workspace_uuid,
    'x-langbot-placement-generation': String(context.placement_generation),
  }
}

export async function openBoxWorld(under: BackendUnderTest, settings: NodeJS.ProcessEnv = {}): Promise<BoxWorld> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-boxrun-'))
  const logged: string[] = []
  const clients: BoxTestClient[] = []
  const relays: RelayClient[] = []
  const environment = {
    ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: under.kind, HOLDFAST_BOX_ENABLED: 'true' },
    ...(under.settings.dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: under.settings.dockerSocket }),
    ...(under.settings.image === undefined ? {} : { HOLDFAST_IMAGE: under.settings.image }),
    ...settings,
  }
  const start = () =>
    startServer(
      loadConfig({}, environment),
      createLog({ level: 'debug', format: 'json' }, (line) => logged.push(line)),
    )
  let server = await start()
  const dial = async () => {
    const client = await dialBox(server.url, { 'x-langbot-instance-id': INSTANCE })
    clients.push(client)
    return client
  }
  let client = await dial()

  const adminHeaders = () => ({ authorization: `Bearer ${readFileSync(join(home, 'admin.key'), 'utf8').trim()}` })
  const call: BoxWorld['call'] = async (action, data = {}, context = CONTEXT) => dataOf(await client.ask(action, data, context))
  return {
    home,
    get server() {
      return server
    },
    get client() {
      return client
    },
    logged,
    dial,
    call,
    async failure(action, data = {}, context = CONTEXT) {
      const frame = await client.ask(action, data, context)
      expect(frame).toMatchObject({ code: 1, data: {} })
      return String(frame['message'])
    },
    exec: async (session, cmd, spec = {}, context = CONTEXT) =>
      BoxExecutionResult.parse(await call('box_exec', { session_id: session, cmd, ...spec }, context)),
    async launch(session, id, command, spec = {}) {
      const wish = { process_id: id, command: 'sh', args: ['-c', command], ...spec }
      return BoxManagedProcessInfo.parse(await call('box_start_managed_process', { session_id: session, spec: wish }))
    },
    look: async (session, id) =>
      BoxManagedProcessInfo.parse(await call('box_get_managed_process', { session_id: session, process_id: id })),
    async relay(session, id) {
      const path = `/v1/sessions/${TENANT.placement}-${session}/managed-process${id === undefined ? '' : `/${encodeURIComponent(id)}`}/ws`
      const relay = await openRelay(`${server.url}${path}`, relayHeaders())
      relays.push(relay)
      return relay
    },
    adminHeaders,
    async rest(path, headers = {}) {
      const response = await fetch(`${server.url}${path}`, { headers: { ...adminHeaders(), ...headers } })
      return response.json() as Promise<Record<string, unknown>>
    },
    async restart() {
      await server.close()
      server = await start()
      client = await dial()
    },
    async close() {
      for (const each of clients) each.socket.terminate()
      for (const each of relays) each.socket.terminate()
      const { backend } = server.chosen
      await server.plane.sessions.close(0)
      await server.close()
      for (const { name } of await backend.list()) await backend.destroy(name)
      rmSync(home, { recursive: true, force: true })
    },
  }
}

export function dataOf(frame: Frame): Record<string, unknown> {
  expect(frame).toMatchObject({ code: 0, message: 'success' })
  return frame['data'] as Record<string, unknown>
}
