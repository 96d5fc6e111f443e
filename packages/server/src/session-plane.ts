/**
 * Everything behind the doors, put together: who may, what may, the sessions, what they tell.
 *
 * ingress → access → policy → sessions → sandboxes → guest → result
 *
 * The second half of the composition root, apart from it so that it can also be run over a store or backends of somebody's choosing.
 */
import { hkdfSync, randomUUID } from 'node:crypto'
import { callerOf } from './access/authorize.ts'
import { createKeys } from './access/keys.ts'
import type { Keys } from './access/keys.ts'
import type { Principal } from './access/principal.ts'
import { createTenants } from './access/tenants.ts'
import type { Tenants } from './access/tenants.ts'
import type { Config } from './config.ts'
import type { Home } from './home/home.ts'
import { createSealing, readOrMakeSealingKey } from './home/sealing.ts'
import type { Sealing } from './home/sealing.ts'
import { sandboxPolicy } from './policy/sandbox-policy.ts'
import { scopePolicy } from './policy/scopes/scope-policy.ts'
import type { ScopePolicy } from './policy/scopes/scope-policy.ts'
import { sessionSpecs } from './policy/session-spec.ts'
import type { ChosenBackend, OpenBackend } from './sandboxes/choose.ts'
import { sandboxUserOnHost } from './sandboxes/sandbox-user.ts'
import type { Caller } from './sessions/caller.ts'
import { createEventListeners } from './sessions/events/event-listeners.ts'
import type { EventListeners } from './sessions/events/event-listeners.ts'
import { createHabitats } from './sessions/habitats.ts'
import { createQuotas } from './sessions/quotas.ts'
import type { Recovered } from './sessions/recovery.ts'
import { holdServerLease } from './sessions/server-lease.ts'
import { createSessions } from './sessions/sessions.ts'
import type { Sessions } from './sessions/sessions.ts'
import { sessionTimes } from './sessions/session-times.ts'
import { startWebhookDispatcher } from './sessions/webhooks/dispatcher.ts'
import { allowedAddresses } from './sessions/webhooks/public-address.ts'
import { targetGuard } from './sessions/webhooks/target-guard.ts'
import { createWebhooks } from './sessions/webhooks/webhooks.ts'
import type { Webhooks } from './sessions/webhooks/webhooks.ts'
import { createWorkspaces } from './sessions/workspaces.ts'
import type { Store } from './store/store.ts'
import type { Log } from './telemetry/log.ts'
import { unobserved } from './telemetry/observations.ts'
import type { Observer } from './telemetry/observations.ts'

export interface SessionPlane {
  readonly sessions: Sessions
  readonly tenants: Tenants
  readonly keys: Keys
  readonly scopes: ScopePolicy
  readonly webhooks: Webhooks
  readonly listeners: EventListeners
  readonly sealing: Sealing
  /** A key for one purpose, from the secret that servers on one database share. */
  keyFor(purpose: string): Uint8Array
  /** What an earlier life of this server left and this one took up. */
  readonly recovered: Recovered
  callerOf(principal: Principal): Promise<Caller>
  /** Refuses new work, waits up to `drainMs` for attended commands, lets go of the sandboxes. Safe to call twice. */
  close(drainMs: number): Promise<void>
}

export interface SessionPlaneNeeds {
  readonly config: Config
  readonly home: Home
  readonly store: Store
  readonly chosen: ChosenBackend
  readonly openBackend: OpenBackend
  /** Where other servers and their callers reach this one. */
  readonly url: string | null
  readonly clock: () => number
  readonly log: Log
  readonly observer?: Observer
}

/** Resolves once everything that an earlier life left is taken up or on its way out. */
export async function openSessionPlane({
  config,
  home,
  store,
  chosen,
  openBackend,
  url,
  clock,
  log,
  observer = unobserved,
}: SessionPlaneNeeds): Promise<SessionPlane> {
  const tenants = createTenants({ store, clock })
  await tenants.ensureDefaultTenant()
  const listeners = createEventListeners()

  const { image, network, limits } = config
  const policy = sandboxPolicy({ image, network, limits, hasImages: chosen.capabilities.images })
  const specs = sessionSpecs(policy, chosen, config.packedSessions)
  const scopes = scopePolicy({
    newTaskId: randomUUID,
    ...(config.defaultScope === null ? {} : { defaultScope: config.defaultScope }),
    ...(config.forcedScope === null ? {} : { forcedScope: config.forcedScope }),
  })

  const takeoverMs = config.sessions.takeoverSeconds * 1000
  const lease = await holdServerLease({ store, serverId: home.serverId, url, clock, takeoverMs, log })
  const sessions = createSessions({
    store,
    listeners,
    lease,
    clock,
    log,
    observer,
    quotas: createQuotas({ defaults: config.quotas }),
    habitats: createHabitats({
      workspaces: createWorkspaces(home.workspacesDir, sandboxUserOnHost()),
      packsDirectory: home.packsDir,
      specFor: specs.specFor,
    }),
    backend: chosen.backend.kind,
    openBackend,
    outputDirectory: home.outputDir,
    times: sessionTimes(config.sessions),
    packing: { maxSessions: config.packedSessions },
    maxSandboxes: config.sessions.maxSandboxes,
    maxRunning: config.sessions.maxExecutions,
    terminalGraceMs: config.sessions.terminalGraceSeconds * 1000,
    onStop: config.sessions.onStop,
    eventRetentionMs: config.eventRetentionSeconds * 1000,
    completeWish: specs.complete,
    checkWish: specs.check,
  })
  const recovered = await sessions.recover()

  const secret = config.secretKey === null ? readOrMakeSealingKey(home.path) : Buffer.from(config.secretKey, 'hex')
  const sealing = createSealing(secret)
  const guard = targetGuard(allowedAddresses(config.webhookNetworks))
  const dispatcher = startWebhookDispatcher({ store, listeners, log, clock, random: Math.random, sealing, guard, observer })

  let ending: Promise<void> | null = null
  const end = async (drainMs: number) => {
    await sessions.close(drainMs)
    await dispatcher.stop()
    lease.stop()
  }
  return {
    sessions,
    tenants,
    keys: createKeys({ store, clock }),
    scopes,
    webhooks: createWebhooks({ store, sealing, guard, clock }),
    listeners,
    sealing,
    keyFor: (purpose) => new Uint8Array(hkdfSync('sha256', secret, '', `holdfast ${purpose}`, 32)),
    recovered,
    callerOf: async (principal) => callerOf(principal, (await tenants.policyOf(principal.tenantId)) ?? { admin_exec: false }),
    close: (drainMs) => (ending ??= end(drainMs)),
  }
}
