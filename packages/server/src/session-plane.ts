/**
 * Everything behind the doors, put together: who may, what may, the sessions, what they tell.
 *
 * ingress → access → policy → sessions → sandboxes → guest → result
 *
 * The second half of the composition root, apart from it so that it can also be run over a store or backends of somebody's choosing.
 */
import { hkdfSync, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { SandboxWish } from '@holdfast/protocol'
import { callerOf } from './access/authorize.ts'
import { createKeys } from './access/keys.ts'
import type { Keys } from './access/keys.ts'
import { createFileLinks } from './access/file-links.ts'
import type { FileLinks } from './access/file-links.ts'
import { createPreviewLinks } from './access/preview-links.ts'
import type { PreviewLinks } from './access/preview-links.ts'
import type { Principal } from './access/principal.ts'
import { createTenants } from './access/tenants.ts'
import type { Tenants } from './access/tenants.ts'
import type { Config } from './config.ts'
import type { Home } from './home/home.ts'
import { createSandboxFiles } from './home/sandbox-files.ts'
import { createSealing, readEarlierSealingKeys, readOrMakeSealingKey } from './home/sealing.ts'
import type { Sealing } from './home/sealing.ts'
import { hostRootOf, ownersPlaces } from './ingress/box/run/owners-places.ts'
import { openMcpPlane } from './mcp-plane.ts'
import type { McpPlane } from './mcp-plane.ts'
import { defaultWorkspace } from './policy/default-workspace.ts'
import { createPipelines } from './policy/pipelines.ts'
import { profileObstacles } from './policy/profile-obstacles.ts'
import { createProfiles } from './policy/profiles.ts'
import { createDefinitionCache } from './policy/definitions/definition-cache.ts'
import { createTenantPipelines } from './policy/tenant-pipelines.ts'
import type { TenantPipelines } from './policy/tenant-pipelines.ts'
import { createTenantProfiles } from './policy/tenant-profiles.ts'
import type { TenantProfiles } from './policy/tenant-profiles.ts'
import { sandboxPolicy } from './policy/sandbox-policy.ts'
import { scopePolicy } from './policy/scopes/scope-policy.ts'
import type { ScopePolicy } from './policy/scopes/scope-policy.ts'
import { checkRoots, ownPaths, warnOfWritable } from './policy/own-paths.ts'
import { sessionMounts } from './policy/session-mounts.ts'
import type { MountOwner, SessionMounts } from './policy/session-mounts.ts'
import { sessionSpecs } from './policy/session-spec.ts'
import type { ChosenBackend, OpenBackend } from './sandboxes/choose.ts'
import { checkUidRange } from './sandboxes/host-users.ts'
import type { UidRange } from './sandboxes/host-users.ts'
import { isServerRoot, sandboxUserOnHost } from './sandboxes/sandbox-user.ts'
import { findSubordinateIds } from './sandboxes/subordinate-ids.ts'
import type { SubordinateIds } from './sandboxes/subordinate-ids.ts'
import type { Caller } from './sessions/caller.ts'
import { createEventListeners } from './sessions/events/event-listeners.ts'
import type { EventListeners } from './sessions/events/event-listeners.ts'
import { createHabitats } from './sessions/habitats.ts'
import { createQuotas } from './sessions/quotas.ts'
import type { Recovered } from './sessions/recovery.ts'
import { holdServerLease } from './sessions/server-lease.ts'
import { sessionUsers } from './sessions/session-users.ts'
import { createSessions } from './sessions/sessions.ts'
import type { Sessions } from './sessions/sessions.ts'
import { sessionTimes } from './sessions/session-times.ts'
import { startWebhookDispatcher } from './sessions/webhooks/dispatcher.ts'
import { allowedAddresses } from './sessions/webhooks/public-address.ts'
import { targetGuard } from './sessions/webhooks/target-guard.ts'
import { resealCredentials } from './sessions/credentials/reseal.ts'
import { sealOlderTargets } from './sessions/webhooks/webhook-target.ts'
import { createWebhooks } from './sessions/webhooks/webhooks.ts'
import type { Webhooks } from './sessions/webhooks/webhooks.ts'
import { createMeasuring } from './sessions/workspace-quota/measuring.ts'
import { createWorkspaces } from './sessions/workspaces.ts'
import type { Workspaces } from './sessions/workspaces.ts'
import { createSkillViews } from './skills/skill-views.ts'
import type { SkillViews } from './skills/skill-views.ts'
import { createSkills } from './skills/skills.ts'
import type { Skills } from './skills/skills.ts'
import { databasePathOf } from './home/home-health.ts'
import { scrubOnce } from './store/sqlite/scrub.ts'
import type { Store } from './store/store.ts'
import type { Log } from './telemetry/log.ts'
import { unobserved } from './telemetry/observations.ts'
import type { Observer } from './telemetry/observations.ts'
import { createTools } from './tools/tools.ts'
import type { Tools } from './tools/tools.ts'

export interface SessionPlane {
  readonly sessions: Sessions
  readonly tenants: Tenants
  readonly keys: Keys
  readonly scopes: ScopePolicy
  readonly profiles: TenantProfiles
  /** Of requests that name none; `null`: the server's own settings. */
  readonly usualProfile: string | null
  readonly pipelines: TenantPipelines
  readonly skills: Skills
  readonly skillViews: SkillViews
  /** Whether sandboxes can show this directory's files as their own, no matter who owns them. */
  mapsOwners(directory: string): Promise<boolean>
  /** What models are offered. */
  readonly tools: Tools
  /** MCP servers in boxes. */
  readonly mcp: McpPlane
  /** Links for browsers to web apps inside. */
  readonly previewLinks: PreviewLinks
  /** Links for browsers to single files. */
  readonly fileLinks: FileLinks
  readonly webhooks: Webhooks
  readonly listeners: EventListeners
  readonly sealing: Sealing
  readonly mounts: SessionMounts
  /** Throws what a session of this owner with this wish would be refused for. */
  checkSandbox(wish: SandboxWish, whose: MountOwner): Promise<void>
  readonly workspaces: Pick<Workspaces, 'storageOf' | 'filesOf'>
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
  /** Before each further try to start an MCP server. */
  readonly mcpRetryMs?: readonly number[] | undefined
}

interface UsersToGive {
  /** `null`: sandboxes have the user that all have in common. */
  readonly range: UidRange | null
  readonly subordinate: SubordinateIds | null
}

/** Throws `config_invalid`. */
async function usersToGive({ sandboxUids, ...config }: Config, log: Log): Promise<UsersToGive> {
  if (isServerRoot()) {
    const problem = sandboxUids === null ? null : checkUidRange(sandboxUids)
    if (problem !== null) log.warn('host-users-shared', { reason: problem })
    return { range: problem === null ? sandboxUids : null, subordinate: null }
  }
  const found = await findSubordinateIds(config)
  if ('problem' in found) {
    log.warn('host-user-is-the-servers', { reason: `sandboxes have the user of the server, because ${found.problem}`, fix: found.fix })
    return { range: null, subordinate: null }
  }
  // Without a range too: files that were given away are taken back with them.
  return { range: sandboxUids === null ? null : found.range, subordinate: found }
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
  mcpRetryMs,
}: SessionPlaneNeeds): Promise<SessionPlane> {
  const tenants = createTenants({ store, clock })
  await tenants.ensureDefaultTenant()
  const listeners = createEventListeners()

  const { image, network, limits } = config
  const policy = sandboxPolicy({ image, network, limits, workspaceBytes: config.workspaceBytes, hasImages: chosen.capabilities.images })
  const configured = createProfiles({ usual: config.profile, image: config.isImageNamed ? image : null, custom: config.profiles })
  const configuredPipelines = createPipelines({
    settings: config.pipelines,
    profiles: configured,
    defaultScope: config.defaultScope ?? undefined,
    forcedScope: config.forcedScope ?? undefined,
  })
  const obstacles = await profileObstacles({ profiles: configured, pipelines: configuredPipelines, policy, backend: chosen.backend })
  const definitionCache = createDefinitionCache(store)
  const stored = { store, cache: definitionCache, clock, quotas: config.quotas }
  const profiles = createTenantProfiles({
    ...{ ...stored, profiles: configured, obstacles, policy, backend: chosen.backend, usual: { network, limits } },
    mayRaiseLimits: isServerRoot(),
  })
  const pipelines = createTenantPipelines({ ...stored, pipelines: configuredPipelines, profiles: configured })
  const { allowedMountRoots: allowedRoots } = config
  const user = sandboxUserOnHost()
  const own = await ownPaths({ ...config, modules: import.meta.dirname })
  await checkRoots([...allowedRoots, ...(config.box.isEnabled && config.box.hostRoot !== null ? [config.box.hostRoot] : [])], own)
  const { range, subordinate } = await usersToGive(config, log)
  await warnOfWritable(own, { user, range }, log)
  const workspace = config.defaultWorkspace === null ? null : defaultWorkspace({ directory: config.defaultWorkspace, allowedRoots, user })
  const boxTenant = config.box.isEnabled ? await tenants.activeTenant(config.box.tenant) : null
  const files = createSandboxFiles({ ...config, isRoot: isServerRoot(), subordinate })
  const workspaces = createWorkspaces(home.workspacesDir, files)
  const boxRoot = hostRootOf(home.path, config.box.hostRoot)
  const boxPlaces = boxTenant === null ? null : { tenantId: boxTenant, ...ownersPlaces(boxRoot, workspaces.storageOf) }
  const mapsOwners = async (directory: string) => range !== null && (await chosen.backend.hostUsers?.mapsOwners?.(directory)) === true
  const mounts = sessionMounts({
    ...{ allowedRoots, stateDir: home.path, ownPaths: own, user, defaultWorkspace: workspace, ownersPlaces: boxPlaces, log },
    mapsOwners,
  })
  const specs = sessionSpecs({
    ...{ policy, chosen, profiles, pipelines, mounts, defaultWorkspace: workspace, packedSessions: config.packedSessions },
    mayRaiseLimits: isServerRoot(),
  })
  const scopes = scopePolicy({
    newTaskId: randomUUID,
    missing: config.missingVariables,
    ...(config.defaultScope === null ? {} : { defaultScope: config.defaultScope }),
    ...(config.forcedScope === null ? {} : { forcedScope: config.forcedScope }),
  })

  const skillViews = createSkillViews({ directory: join(home.skillsDir, 'views'), user, files, clock, log })
  const skills = createSkills({ directory: home.skillsDir, clock, log, onChange: (changed) => void skillViews.refresh(changed) })
  await skills.sweep()

  const secret = config.secretKey === null ? readOrMakeSealingKey(home.path) : Buffer.from(config.secretKey, 'hex')
  const sealing = createSealing(secret, [
    ...config.previousSecretKeys.map((key) => Buffer.from(key, 'hex')),
    ...(config.secretKey === null ? readEarlierSealingKeys(home.path) : []),
  ])
  await sealOlderTargets(store, sealing)
  await resealCredentials(store, sealing, log)
  if (config.storeUrl === null)
    // What cannot be done now, because the disk is full, is tried at the next start.
    await scrubOnce(databasePathOf(home.path)).catch((error: unknown) =>
      log.warn('store-scrub-failed', { problem: error instanceof Error ? error.message : String(error) }),
    )
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
    sealing,
    habitats: createHabitats({
      workspaces,
      skillViews,
      packsDirectory: home.packsDir,
      stateDirectory: home.stateDir,
      specFor: specs.specFor,
      usersFor: sessionUsers({ range, openBackend, log }),
    }),
    backend: chosen.backend.kind,
    openBackend,
    outputDirectory: home.outputDir,
    times: sessionTimes(config.sessions),
    packing: { maxSessions: config.packedSessions },
    maxSandboxes: config.sessions.maxSandboxes,
    whenFull: config.sessions.whenFull,
    maxRunning: config.sessions.maxExecutions,
    terminalGraceMs: config.sessions.terminalGraceSeconds * 1000,
    onStop: config.sessions.onStop,
    eventRetentionMs: config.eventRetentionSeconds * 1000,
    quotaDefaults: config.quotas,
    measuring: createMeasuring(files),
    maxWorkspaceEntries: config.workspaceEntries,
    completeWish: specs.complete,
    checkWish: specs.check,
  })
  const recovered = await sessions.recover()
  const mcp = openMcpPlane({
    ...{ store, sealing, sessions, listeners, pipelines, mounts, serverId: home.serverId, clock, log, observer },
    retryMs: mcpRetryMs,
  })
  mcp.recover()

  const guard = targetGuard(allowedAddresses(config.webhookNetworks))
  const dispatcher = startWebhookDispatcher({ store, listeners, log, clock, random: Math.random, sealing, guard, observer })

  const keys = createKeys({ store, clock })
  const keyFor = (purpose: string) => new Uint8Array(hkdfSync('sha256', secret, '', `holdfast ${purpose}`, 32))
  const lets = { keys: config.auth === 'key', tokens: config.oidc !== null }

  let ending: Promise<void> | null = null
  const end = async (drainMs: number) => {
    await mcp.close()
    await sessions.close(drainMs)
    await dispatcher.stop()
    await skillViews.settled()
    lease.stop()
    definitionCache.close()
  }
  return {
    sessions,
    tenants,
    keys,
    ...{ scopes, profiles, usualProfile: config.profile, pipelines },
    skills,
    skillViews,
    mapsOwners,
    tools: createTools({
      ...{ store, sessions, skills, clock, views: skillViews, outputCharacters: config.toolOutputCharacters },
      // A session that is older than stored skills has a pipeline of the configuration.
      boundSkills: ({ wish: { pipeline, skills: kept } }) =>
        pipeline === undefined ? null : (kept ?? configuredPipelines.all().find(({ name }) => name === pipeline)?.skills ?? []),
    }),
    mcp,
    fileLinks: createFileLinks({ store, keys, sealing, clock, lets }),
    previewLinks: createPreviewLinks({ store, keys, key: keyFor('preview links'), clock, lets }),
    webhooks: createWebhooks({ store, sealing, guard, clock }),
    listeners,
    sealing,
    ...{ mounts, workspaces },
    async checkSandbox(wish, whose) {
      const place = { ...whose, isPacked: false }
      await specs.check(await specs.complete(wish, place), place)
    },
    keyFor,
    recovered,
    callerOf: async (principal) => callerOf(principal, (await tenants.policyOf(principal.tenantId)) ?? { admin_exec: false }),
    close: (drainMs) => (ending ??= end(drainMs)),
  }
}
