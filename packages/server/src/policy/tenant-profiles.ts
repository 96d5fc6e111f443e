/**
 * The profiles of a tenant: the built-in and configured ones, which are read-only, and those that the tenant stores.
 *
 * A stored profile is read when a session is made, never later: the session keeps the values and the version. The configuration
 * wins over a stored profile of the same name. A stored image is one that a caller names: it is not pulled for being in a profile.
 */
import { HoldfastError, ProfileSettings } from '@holdfast/protocol'
import type { DefinitionSource } from '@holdfast/protocol'
import type { SandboxBackend } from '../sandboxes/backend.ts'
import type { Limits } from '../sandboxes/spec.ts'
import { pipelinesWithProfile } from '../store/tables/definitions.ts'
import { createDefinitions } from './definitions/definitions.ts'
import type { ChangedBy, Definition, DefinitionsNeeds, NamedDefinition } from './definitions/definitions.ts'
import { readOnly } from './definitions/read-only.ts'
import { assertNotRaised } from './limits.ts'
import { loosenedFields } from './profile-loosening.ts'
import { obstacleOf } from './profile-obstacles.ts'
import { DEFAULT } from './profiles.ts'
import type { Profile, Profiles } from './profiles.ts'
import type { SandboxPolicy } from './sandbox-policy.ts'

const NAMED_PIPELINES = 10

export interface ListedProfile {
  readonly profile: Profile
  readonly source: DefinitionSource
  /** `null`: it is read-only. */
  readonly stored: Definition<ProfileSettings> | null
}

export interface ProfileChangedBy extends ChangedBy {
  /** Whether this caller may set the policy of tenants. */
  readonly maySetPolicy: boolean
}

export interface TenantProfiles {
  /** The profile of a new session and, of a stored one, its version. Throws `profile_unknown`. */
  choose(tenantId: string, name: string | undefined): Promise<{ readonly profile: Profile | null; readonly version: number | null }>
  applyTo: Profiles['applyTo']
  /** Throws `not_found`. */
  get(named: NamedDefinition): Promise<ListedProfile>
  readonly readOnly: readonly ListedProfile[]
  stored(tenantId: string, afterName: string, limit: number): Promise<readonly ListedProfile[]>
  /** Why it cannot be used here; `null`: it can. */
  obstacleOf(listed: ListedProfile): Promise<string | null>
  /** Throws `read_only`, `name_taken`, `quota_exceeded` and `capability_unsupported`; so does `replace`. */
  create(named: NamedDefinition, settings: ProfileSettings, by: ProfileChangedBy): Promise<ListedProfile>
  /** Throws `forbidden` for a change that loosens a locked field, unless the caller may set policy; so does `remove`. */
  replace(named: NamedDefinition, settings: ProfileSettings, ifVersion: number, by: ProfileChangedBy): Promise<ListedProfile>
  /** Throws `profile_in_use` while a pipeline of the tenant names it. Sessions keep what they were made with. */
  remove(named: NamedDefinition, ifVersion: number | undefined, by: ProfileChangedBy): Promise<void>
}

export interface TenantProfilesNeeds extends Omit<DefinitionsNeeds<typeof ProfileSettings>, 'kind' | 'schema' | 'profileOf'> {
  readonly profiles: Profiles
  /** Why some read-only ones cannot be used here, by name. */
  readonly obstacles: ReadonlyMap<string, string>
  readonly policy: SandboxPolicy
  readonly backend: Pick<SandboxBackend, 'check'>
  /** What a profile leaves out. */
  readonly usual: { readonly network: 'off' | 'on'; readonly limits: Limits }
  /** `false` where sandboxes have the server's own user. */
  readonly mayRaiseLimits: boolean
}

export function createTenantProfiles(needs: TenantProfilesNeeds): TenantProfiles {
  const { profiles, obstacles, policy, backend, usual, mayRaiseLimits } = needs
  const definitions = createDefinitions({ ...needs, kind: 'profile', schema: ProfileSettings })
  const fixed = new Map(profiles.all().map((profile) => [profile.name, listedFixed(profile)]))

  function listedFixed(profile: Profile): ListedProfile {
    return { profile, source: profiles.isBuiltIn(profile.name) ? 'built-in' : 'configuration', stored: null }
  }

  const listed = (stored: Definition<ProfileSettings>): ListedProfile => ({
    ...{ profile: profileOf(stored.name, stored.settings, usual), source: 'tenant', stored },
  })

  const check = (profile: Profile) => backend.check(policy.specFor(profiles.applyTo(profile, {}), []))

  /** Before anything is stored: a profile that cannot be honoured here is refused, with the reason. */
  async function checkNew(named: NamedDefinition, settings: ProfileSettings, by: ProfileChangedBy): Promise<Profile> {
    const taken = fixed.get(named.name)
    if (taken !== undefined) throw readOnly('profile', named.name, taken.source)
    const profile = profileOf(named.name, settings, usual)
    const { limits } = policy.specFor(profiles.applyTo(profile, {}), [])
    if (!mayRaiseLimits && !by.maySetPolicy) assertNotRaised(limits, policy.specFor(profiles.apply(undefined, {}), []).limits)
    try {
      await check(profile)
    } catch (error) {
      // An engine that is silent, or an image that is not there yet, may be there by the time that the profile is used.
      if (!(error instanceof HoldfastError) || error.code === 'capability_unsupported') throw error
    }
    return profile
  }

  function checkLoosening(before: Definition<ProfileSettings>, after: Profile | null, by: ProfileChangedBy): void {
    const fields = loosenedFields(profileOf(before.name, before.settings, usual), after)
    if (fields.length === 0 || by.maySetPolicy) return
    throw new HoldfastError(
      'forbidden',
      `the profile '${before.name}' locks ${fields.join(', ')}; only who may set the policy of tenants may loosen that`,
      { profile: before.name, fields },
    )
  }

  return {
    async choose(tenantId, asked) {
      const name = asked ?? profiles.usual
      if (name === null) return { profile: null, version: null }
      const known = fixed.get(name)
      if (known !== undefined) return { profile: known.profile, version: null }
      const stored = await definitions.recall({ tenantId, name })
      if (stored !== null) return { profile: profileOf(name, stored.settings, usual), version: stored.version }
      const names = [...fixed.keys()].join(', ')
      throw new HoldfastError('profile_unknown', `profile: there is no profile '${name}'; read-only ones are ${names}`, { profile: name })
    },
    applyTo: profiles.applyTo,
    async get(named) {
      const known = fixed.get(named.name)
      if (known !== undefined) return known
      const stored = await definitions.get(named)
      if (stored === null) throw new HoldfastError('not_found', `there is no profile '${named.name}'`, { profile: named.name })
      return listed(stored)
    },
    readOnly: [...fixed.values()],
    stored: async (...asked) => (await definitions.list(...asked)).map(listed),
    async obstacleOf({ profile, stored }) {
      if (stored === null) return obstacles.get(profile.name) ?? null
      if (fixed.has(profile.name)) return 'the configuration has a profile of this name, which is used instead'
      return obstacleOf(() => check(profile))
    },
    async create(named, settings, by) {
      await checkNew(named, settings, by)
      return listed(await definitions.create(named, settings, changedBy(by)))
    },
    async replace(named, settings, ifVersion, by) {
      const profile = await checkNew(named, settings, by)
      const changed = await definitions.replace(named, settings, ifVersion, changedBy(by), (before) => checkLoosening(before, profile, by))
      return listed(changed)
    },
    async remove(named, ifVersion, by) {
      const taken = fixed.get(named.name)
      // One that the configuration hides can still be removed.
      if (taken !== undefined && (await definitions.get(named)) === null) throw readOnly('profile', named.name, taken.source)
      await definitions.remove(named, ifVersion, changedBy(by), async (before, transaction) => {
        checkLoosening(before, null, by)
        if (taken !== undefined) return
        const pipelines = await pipelinesWithProfile(transaction, named.tenantId, named.name, NAMED_PIPELINES)
        if (pipelines.length > 0)
          throw new HoldfastError('profile_in_use', `the profile '${named.name}' is named by the pipelines ${pipelines.join(', ')}`, {
            profile: named.name,
            pipelines,
          })
      })
    },
  }
}

/** Without what the audit does not know. */
function changedBy(who: ProfileChangedBy): ChangedBy {
  const { maySetPolicy: _, ...by } = who
  return by
}

/** What the settings leave out is what the server says now. */
function profileOf(name: string, settings: ProfileSettings, usual: TenantProfilesNeeds['usual']): Profile {
  const { limits = {}, timeout_ms: timeoutMs, max_timeout_ms: maxTimeoutMs } = settings
  return {
    name,
    image: settings.image ?? null,
    network: settings.network ?? usual.network,
    rootfs: settings.rootfs ?? (settings.user === 'root' ? 'writable' : DEFAULT.rootfs),
    home: settings.home ?? DEFAULT.home,
    user: settings.user ?? DEFAULT.user,
    workspaceMode: settings.workspace_mode ?? DEFAULT.workspaceMode,
    cpus: limits.cpus === undefined ? usual.limits.cpus : limits.cpus,
    memoryBytes: limits.memory_bytes === undefined ? usual.limits.memoryBytes : limits.memory_bytes,
    pids: limits.pids === undefined ? usual.limits.pids : limits.pids,
    workspaceBytes: limits.workspace_bytes ?? null,
    timeoutMs: timeoutMs ?? Math.min(DEFAULT.timeoutMs, maxTimeoutMs ?? DEFAULT.timeoutMs),
    maxTimeoutMs: maxTimeoutMs ?? Math.max(timeoutMs ?? 0, DEFAULT.maxTimeoutMs),
    locked: settings.locked ?? [],
  }
}
