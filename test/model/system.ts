/**
 * The system under test: the whole session plane over a real store and real guests, which can be stopped, killed and started again.
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TenantPolicy, TenantQuotas } from '@holdfast/protocol'
import { DEFAULT_TENANT_ID } from '../../packages/server/src/access/principal.ts'
import type { Principal } from '../../packages/server/src/access/principal.ts'
import { loadConfig } from '../../packages/server/src/config.ts'
import { openHome } from '../../packages/server/src/home/home.ts'
import type { Home } from '../../packages/server/src/home/home.ts'
import { openSessionPlane } from '../../packages/server/src/session-plane.ts'
import type { SessionPlane } from '../../packages/server/src/session-plane.ts'
import type { Caller } from '../../packages/server/src/sessions/caller.ts'
import { migrate } from '../../packages/server/src/store/migrate.ts'
import { openStore } from '../../packages/server/src/store/open-store.ts'
import { openSqliteStore } from '../../packages/server/src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../packages/server/src/store/store.ts'
import { jsonLog } from '../../packages/server/src/telemetry/log.ts'
import { BARE_CAPABILITIES, bareGuestBackend } from './bare-guest-backend.ts'
import type { BareGuestBackend } from './bare-guest-backend.ts'
import { beginLife } from './life.ts'
import type { Life } from './life.ts'
import { modelTime } from './model-time.ts'
import type { ModelTime } from './model-time.ts'
import { EVENTS_MS, MAX_PACKED, MAX_RUNNING, MAX_SANDBOXES, OWNERS, SECOND, TENANTS, TIMES } from './rules.ts'
import type { Owner, TenantName } from './rules.ts'

const CEILING_SECONDS = {
  idle_seconds: TENANTS.other.ceilings.idleMs / SECOND,
  lease_seconds: TENANTS.other.ceilings.leaseMs / SECOND,
  lifetime_seconds: TENANTS.other.ceilings.lifetimeMs / SECOND,
  retention_seconds: TENANTS.other.ceilings.retentionMs / SECOND,
}

export interface System {
  readonly time: ModelTime
  readonly home: Home
  readonly store: Store
  readonly backend: BareGuestBackend
  /** Where programs say which process they are. */
  readonly scratch: string
  readonly plane: SessionPlane
  readonly life: Life
  /** Real ids, in the order of the model's numbers. */
  readonly sessionIds: string[]
  readonly executionIds: Map<number, string>
  /** Of each session, as it was last looked at. */
  readonly versions: Map<string, number>
  readonly logged: string[]
  caller(owner: Owner): Promise<Caller>
  /** Somebody with a role, in the tenant of an owner. */
  official(role: 'platform_admin' | 'tenant_admin' | 'operator' | 'viewer', owner: Owner): Promise<Caller>
  stop(): Promise<void>
  kill(): Promise<void>
  start(): Promise<void>
  /** Nothing is left of it. */
  end(): Promise<void>
}

export async function openSystem(onStop: 'keep' | 'suspend', isInFile: boolean): Promise<System> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-model-'))
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-model-'))
  const home = openHome(directory)
  for (const passed of [directory, home.workspacesDir, home.packsDir]) chmodSync(passed, 0o711)
  chmodSync(scratch, 0o777)
  const config = loadConfig({}, environment(directory, onStop))
  const time = modelTime()
  const logged: string[] = []
  const log = jsonLog('info', (line) => logged.push(line))
  const sockets = join(directory, 'sockets')
  mkdirSync(sockets)
  const backend = bareGuestBackend(config.guestPath, sockets)
  const store = isInFile ? await openStore({ url: null, home: directory }) : await inMemory()
  const tenantIds: Record<TenantName, string> = { main: '', other: '' }

  async function begin() {
    const life = beginLife(store, backend)
    const chosen = { backend: life.backend, version: 'test', capabilities: BARE_CAPABILITIES, passedOver: [] }
    const openBackend = () => Promise.resolve(life.backend)
    const plane = await openSessionPlane({ config, home, store: life.store, chosen, openBackend, url: null, clock: time.clock, log })
    return { life, plane }
  }

  const principal = (owner: Owner, subject: string, role: Principal['role']): Principal => ({
    ...{ tenantId: tenantIds[OWNERS[owner]], subject, groups: [], role, kind: 'user', keyId: null, onBehalfOf: null },
  })

  let current = await begin()
  Object.assign(tenantIds, await makeTenants(current.plane))
  return {
    ...{
      time,
      home,
      store,
      backend,
      scratch,
      logged,
      sessionIds: [],
      executionIds: new Map<number, string>(),
      versions: new Map<string, number>(),
    },
    get plane() {
      return current.plane
    },
    get life() {
      return current.life
    },
    caller: (owner) => current.plane.callerOf(principal(owner, owner, 'member')),
    official: (role, owner) => current.plane.callerOf(principal(owner, `the ${role}`, role)),
    stop: () => current.plane.close(0),
    kill: () => current.life.kill(),
    async start() {
      current = await begin()
    },
    async end() {
      await current.life.kill()
      await backend.endAll()
      await store.close()
      rmSync(directory, { recursive: true, force: true })
      rmSync(scratch, { recursive: true, force: true })
    },
  }
}

async function inMemory(): Promise<Store> {
  const store = await openSqliteStore(':memory:')
  await migrate(store)
  return store
}

/**
 * One lets its sessions share sandboxes and has the server's quotas, the other bounds how long they live. Both are new: who a packed
 * session is on this host follows from its tenant, and nothing but that keeps two sequences apart that run at the same time.
 */
async function makeTenants({ tenants }: SessionPlane): Promise<Record<TenantName, string>> {
  const platform: Principal = {
    ...{
      tenantId: DEFAULT_TENANT_ID,
      subject: 'platform',
      groups: [],
      role: 'platform_admin',
      kind: 'user',
      keyId: null,
      onBehalfOf: null,
    },
  }
  const quotas = {
    ...{ open_sessions: null, open_sessions_per_owner: null, compute_sessions: null, compute_sessions_per_owner: null },
    ...{ kept_output_bytes: null, kept_events: null, kept_answer_bytes: null },
  }
  const make = async (name: string, policy: TenantPolicy, its: TenantQuotas) =>
    (await tenants.create(platform, { name, policy, quotas: its })).id
  return {
    main: await make('main', { admin_exec: false, packing: { profiles: ['shared'] }, ceilings: {} }, {}),
    other: await make('other', { admin_exec: false, packing: { profiles: [] }, ceilings: CEILING_SECONDS }, quotas),
  }
}

function environment(home: string, onStop: string): NodeJS.ProcessEnv {
  const { open, openPerOwner, compute, computePerOwner } = TENANTS.main
  return {
    HOLDFAST_HOME: home,
    HOLDFAST_SESSIONS_IDLE_SECONDS: `${TIMES.idleMs / SECOND}`,
    HOLDFAST_SESSIONS_RETENTION_SECONDS: `${TIMES.retentionMs / SECOND}`,
    HOLDFAST_SESSIONS_RECORD_SECONDS: `${TIMES.recordMs / SECOND}`,
    HOLDFAST_SESSIONS_MAX: `${MAX_SANDBOXES}`,
    // The model knows no idle time below that of a session; places that are given up have tests of their own.
    HOLDFAST_SESSIONS_WHEN_FULL: 'refuse',
    HOLDFAST_SESSIONS_MAX_EXECUTIONS: `${MAX_RUNNING}`,
    HOLDFAST_SESSIONS_ON_STOP: onStop,
    HOLDFAST_PACKING_MAX_SESSIONS: `${MAX_PACKED}`,
    HOLDFAST_QUOTAS_SESSIONS: `${open}`,
    HOLDFAST_QUOTAS_SESSIONS_PER_OWNER: `${openPerOwner}`,
    HOLDFAST_QUOTAS_RUNNING: `${compute}`,
    HOLDFAST_QUOTAS_RUNNING_PER_OWNER: `${computePerOwner}`,
    HOLDFAST_EVENTS_RETENTION_SECONDS: `${EVENTS_MS / SECOND}`,
  }
}

/** What the server keeps on disk for sessions, by kind. */
export function filesLeft({ home }: System) {
  const packed = readdirSync(home.packsDir).flatMap((key) => readdirSync(join(home.packsDir, key)))
  return { workspaces: [...readdirSync(home.workspacesDir), ...packed], output: readdirSync(home.outputDir) }
}
