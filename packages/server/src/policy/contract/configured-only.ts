/** Profiles and pipelines of a configuration for tests that store none. */
import type { Pipelines } from '../pipelines.ts'
import type { Profiles } from '../profiles.ts'
import type { TenantPipelines } from '../tenant-pipelines.ts'
import type { TenantProfiles } from '../tenant-profiles.ts'

export function configuredOnly(profiles: Profiles, pipelines: Pipelines) {
  const chosen: Pick<TenantProfiles, 'choose' | 'applyTo'> = {
    async choose(_tenantId, asked) {
      const name = asked ?? profiles.usual
      return { profile: name === null ? null : profiles.get(name), version: null }
    },
    applyTo: profiles.applyTo,
  }
  const resolved: Pick<TenantPipelines, 'resolve'> = { resolve: async (_tenantId, name) => pipelines.resolve(name) }
  return { profiles: chosen, pipelines: resolved }
}
