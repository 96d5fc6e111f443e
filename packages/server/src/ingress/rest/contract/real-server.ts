/**
 * The whole server over a real socket and real bubblewrap, for tests where bytes flow.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateKeyBody, CreateTenantBody, ExecResult } from '@holdfast/protocol'
import type { CreateKeyBodyInput } from '@holdfast/protocol'
import { backendsUnderTest } from '../../../../../../test/environment/backends.ts'
import { ADMIN_KEY_ID, DEFAULT_TENANT_ID } from '../../../access/principal.ts'
import type { Principal } from '../../../access/principal.ts'
import { startServer } from '../../../app.ts'
import { loadConfig } from '../../../config.ts'
import { jsonLog } from '../../../telemetry/log.ts'

export interface Asking extends Omit<RequestInit, 'headers'> {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

export type RealServer = Awaited<ReturnType<typeof openRealServer>>

/** The only backend of this suite; the contract of backends has the guest's own operations on every one. */
export async function bubblewrapUnderTest() {
  const found = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
  if (found === undefined) throw new Error('bubblewrap is not among the backends under test')
  return found
}

export async function openRealServer(settings: Readonly<Record<string, string>> = {}) {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-files-'))
  const logged: string[] = []
  const environment = { HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: 'bubblewrap', HOLDFAST_SESSIONS_ON_STOP: 'suspend' }
  const config = loadConfig({}, { ...environment, ...settings })
  const server = await startServer(
    config,
    jsonLog('info', (line) => logged.push(line)),
  )
  const adminKey = readFileSync(join(home, 'admin.key'), 'utf8').trim()
  const admin: Principal = {
    ...{ tenantId: DEFAULT_TENANT_ID, subject: 'admin', groups: [], role: 'platform_admin', kind: 'service' },
    ...{ keyId: ADMIN_KEY_ID, onBehalfOf: null },
  }

  const request = (path: string, { key = adminKey, headers = {}, ...init }: Asking = {}) =>
    fetch(`${server.url}${path}`, { ...init, headers: { authorization: `Bearer ${key}`, ...headers } })

  return {
    server,
    home,
    admin,
    adminKey,
    logged,
    request,
    async keyOf(wish: Partial<CreateKeyBodyInput> & { readonly subject: string }, tenantId = DEFAULT_TENANT_ID): Promise<string> {
      return (await server.plane.keys.create({ ...admin, tenantId }, CreateKeyBody.parse({ name: wish.subject, ...wish }))).key
    },
    tenantWith: async (policy: object) => (await server.plane.tenants.create(admin, CreateTenantBody.parse({ name: 'packed', policy }))).id,
    /** The session of this key, made if need be, and ready. */
    async session(name: string, wish: object = {}, key = adminKey): Promise<string> {
      const response = await request('/v1/sessions', { method: 'POST', body: JSON.stringify({ key: name, wait_ms: 20_000, ...wish }), key })
      return ((await response.json()) as { readonly id: string }).id
    },
    /** What a shell line prints in a session. */
    async sh(sessionId: string, command: string, key = adminKey): Promise<string> {
      const body = JSON.stringify({ session_id: sessionId, command })
      const result = ExecResult.parse(await (await request('/v1/exec', { method: 'POST', body, key })).json())
      if (result.exit_code !== 0) throw new Error(`${command} ended with ${result.exit_code}: ${result.stderr}`)
      return result.stdout
    },
    async close() {
      await server.close()
      const { backend } = server.chosen
      // What still worked was left running for a next start, and there is none.
      for (const { name } of await backend.list()) await backend.destroy(name)
      rmSync(home, { recursive: true, force: true })
    },
  }
}
