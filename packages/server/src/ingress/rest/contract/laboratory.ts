/**
 * A whole server without sockets, for tests of the REST door: the real plane on SQLite in memory, over real guests without a sandbox.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Every answer that passes through `send` is compared with what its row of the route table declares.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateKeyBody, ProblemDocument } from '@holdfast/protocol'
import type { CreateKeyBodyInput } from '@holdfast/protocol'
import { expect } from 'vitest'
import { BARE_CAPABILITIES, bareGuestBackend } from '../../../../../../test/model/bare-guest-backend.ts'
import { createAuthenticator } from '../../../access/authenticate.ts'
import { clientAddresses } from '../../../access/client-address.ts'
import { hostCheck } from '../../../access/listen-address.ts'
import { ADMIN_KEY_ID, DEFAULT_TENANT_ID } from '../../../access/principal.ts'
import type { Principal } from '../../../access/principal.ts'
import { rateLimit } from '../../../access/rate-limits.ts'
import { slowGuessing } from '../../../access/slow-guessing.ts'
import { loadConfig } from '../../../config.ts'
import { openHome } from '../../../home/home.ts'
import { openSessionPlane } from '../../../session-plane.ts'
import { migrate } from '../../../store/migrate.ts'
import { openSqliteStore } from '../../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../../store/store.ts'
import { jsonLog } from '../../../telemetry/log.ts'
import { createMetrics } from '../../../telemetry/metrics/metrics.ts'
import { untraced } from '../../../telemetry/tracing.ts'
import { workBudget } from '../../pipeline/work-budget.ts'
import { previewMaker } from '../../preview/make-preview.ts'
import { previewAddresses } from '../../preview/preview-address.ts'
import { ByteContent } from '../byte-content.ts'
import { restDoor } from '../door.ts'
import { createIdempotency } from '../idempotency.ts'
import { errorsOf } from '../openapi.ts'
import { restRoutes } from '../rest.ts'
import type { Route } from '../route.ts'

export const ADMIN_KEY = 'the-key-of-the-administrator'
export const ADDRESS = 'http://127.0.0.1:5410'

/** Tests ask quicker than people. */
const UNLIMITED = { HOLDFAST_RATE_LIMITS_REQUESTS_PER_SECOND: 'none', HOLDFAST_RATE_LIMITS_FAILURES_PER_SECOND: 'none' }

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** Parsed; empty for none. */
  readonly body: Record<string, unknown>
  /** A field of the body as text, for the next path. */
  field(name: string): string
}

export interface Sending {
  readonly method?: string
  readonly body?: unknown
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export type Laboratory = Awaited<ReturnType<typeof openLaboratory>>

export async function openLaboratory(
  environment: Readonly<Record<string, string>> = {},
  openStore: () => Promise<Store> = () => openSqliteStore(':memory:'),
) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-rest-'))
  const config = loadConfig({}, { HOLDFAST_HOME: directory, ...UNLIMITED, ...environment })
  const home = openHome(directory)
  const store = await openStore()
  await migrate(store)
  const sockets = join(directory, 'sockets')
  mkdirSync(sockets)
  const backend = bareGuestBackend(config.guestPath, sockets)
  const log = jsonLog('info', () => undefined)
  const clock = Date.now
  const metrics = createMetrics(untraced)
  const { observer } = metrics
  const chosen = { backend, version: 'test', capabilities: BARE_CAPABILITIES, passedOver: [] }
  const plane = await openSessionPlane({ config, home, store, chosen, openBackend: async () => backend, url: null, clock, log, observer })

  const routes = restRoutes({
    ...{ store, sessions: plane.sessions, tenants: plane.tenants, keys: plane.keys, webhooks: plane.webhooks, scopes: plane.scopes },
    skills: plane.skills,
    ...{ profiles: plane.profiles, usualProfile: plane.usualProfile, pipelines: plane.pipelines },
    tools: plane.tools,
    makePreview: previewMaker({
      ...{ reads: plane.sessions.reads, links: plane.previewLinks },
      addresses: previewAddresses({ publicUrl: null, domain: null, port: () => 5410 }),
    }),
    ...{ fileLinks: plane.fileLinks, publicUrl: null },
    mcp: plane.mcp,
    listeners: plane.listeners,
    boxOverview: () => null,
    pageKey: plane.keyFor('page tokens'),
    quotas: config.quotas,
    scopeRules: { default: 'chat', forced: null },
    chosenBackend: backend.kind,
    probeBackends: async () => [{ kind: backend.kind, probe: await backend.probe() }],
    health: () => ({ backend: backend.kind, version: '0.0', backend_version: 'test' }),
    checkReady: async () => {},
    steadyClock: { now: Date.now, wall: Date.now, jump: () => null, confirm: () => false },
    metrics,
    isMetricsPublic: config.isMetricsPublic,
    release: '0.0.0',
  })
  const entrance = {
    authenticate: slowGuessing({
      authenticate: createAuthenticator({ adminKey: { matches: (key) => key === ADMIN_KEY }, keys: plane.keys, tenants: plane.tenants }),
      rate: config.rates.failures,
      clock,
      log,
    }),
    admit: rateLimit({ rate: config.rates.requests, serviceRate: config.rates.services, clock }),
    budget: workBudget(config.inFlight),
    clientAddress: clientAddresses(config.trustedProxies),
    allowedOrigins: new Set(config.allowedOrigins),
    callerOf: plane.callerOf,
    checkHost: hostCheck('127.0.0.1'),
    log,
  }
  const door = restDoor({
    ...entrance,
    fileLinks: plane.fileLinks,
    routes,
    idempotency: createIdempotency({
      ...{ store, sealing: plane.sealing, key: plane.keyFor('idempotency'), clock, kept: plane.sessions.kept, serverId: home.serverId },
    }),
    observer,
  })

  const request = (path: string, { method = 'GET', body, key = ADMIN_KEY, headers = {}, signal }: Sending = {}) =>
    door.request(`${ADDRESS}${path}`, {
      method,
      headers: { host: '127.0.0.1:5410', ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })

  async function send(path: string, sending: Sending = {}): Promise<Answer> {
    const response = await request(path, sending)
    const answer = await answerOf(response)
    checkAgainst(routes, sending.method ?? 'GET', path, answer)
    return answer
  }

  const admin: Principal = {
    ...{ tenantId: DEFAULT_TENANT_ID, subject: 'admin', groups: [], role: 'platform_admin', kind: 'service' },
    ...{ keyId: ADMIN_KEY_ID, onBehalfOf: null },
  }
  return {
    ...{ plane, store, backend, routes, admin, clock, entrance, door, request, send },
    post: (path: string, body: unknown, sending: Sending = {}) => send(path, { method: 'POST', body, ...sending }),
    /** A key of somebody new. */
    async keyOf(wish: Partial<CreateKeyBodyInput> & { readonly subject: string }, tenantId = DEFAULT_TENANT_ID): Promise<string> {
      const body = CreateKeyBody.parse({ name: wish.subject, ...wish })
      return (await plane.keys.create({ ...admin, tenantId }, body)).key
    },
    async close() {
      await plane.close(0)
      await backend.endAll()
      await store.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  const body = (isJson ? JSON.parse(text) : {}) as Record<string, string>
  const field = (name: string) => body[name] ?? 'null'
  return { status: response.status, headers: Object.fromEntries(response.headers), text, body, field }
}

/** What came is one of the answers or one of the errors that the row declares. */
function checkAgainst(routes: readonly Route[], method: string, path: string, { status, headers, body, text }: Answer): void {
  const pathname = path.replace(/\?.*/, '')
  const route = routes.find((each) => each.method === method && new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname))
  expect(headers['x-request-id']).toMatch(/^req_/)
  if (route === undefined) return
  const payload = route.answers[status]
  if (payload === undefined) {
    expect(headers['content-type']).toBe('application/problem+json')
    const problem = ProblemDocument.parse(body)
    expect(problem.request_id).toBe(headers['x-request-id'] ?? '')
    expect([...errorsOf(route)], `${method} ${route.path} answered ${text}`).toContain(problem.code)
    return
  }
  if (payload.schema === null) return expect(text).toBe('')
  if (payload.schema instanceof ByteContent) return expect(payload.schema.mediaTypes).toContain(headers['content-type'])
  // Parsing drops what is not declared: nothing may be dropped.
  expect(payload.schema.parse(body)).toEqual(body)
}
