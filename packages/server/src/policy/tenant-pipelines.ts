/**
 * The pipelines of a tenant: the configured ones, which are read-only, and those that the tenant stores.
 *
 * The configuration wins over a stored pipeline of the same name. A session keeps the skills of its pipeline as they were when it was made.
 */
import { HoldfastError, PipelineSettings } from '@holdfast/protocol'
import { findDefinition } from '../store/tables/definitions.ts'
import type { Transaction } from '../store/store.ts'
import { createDefinitions } from './definitions/definitions.ts'
import type { ChangedBy, Definition, DefinitionsNeeds, NamedDefinition } from './definitions/definitions.ts'
import { readOnly } from './definitions/read-only.ts'
import type { Pipelines, ResolvedPipeline } from './pipelines.ts'
import type { Profiles } from './profiles.ts'
import { readScope } from './scopes/scope.ts'

export interface ListedPipeline {
  readonly name: string
  readonly pipeline: ResolvedPipeline
  /** `null`: it is read-only. */
  readonly stored: Definition<PipelineSettings> | null
}

export interface TenantPipelines {
  /** For no name: what a request without a pipeline gets. Throws `pipeline_unknown`. */
  resolve(tenantId: string, name: string | undefined): Promise<ResolvedPipeline>
  has(named: NamedDefinition): Promise<boolean>
  /** Throws `not_found`. */
  get(named: NamedDefinition): Promise<ListedPipeline>
  readonly readOnly: readonly ListedPipeline[]
  stored(tenantId: string, afterName: string, limit: number): Promise<readonly ListedPipeline[]>
  /** Throws `read_only`, `name_taken`, `quota_exceeded`, `profile_unknown`, and `invalid_request` for a scope that cannot be read. */
  create(named: NamedDefinition, settings: PipelineSettings, by: ChangedBy): Promise<ListedPipeline>
  replace(named: NamedDefinition, settings: PipelineSettings, ifVersion: number, by: ChangedBy): Promise<ListedPipeline>
  /** Sessions that were made for it live on. */
  remove(named: NamedDefinition, ifVersion: number | undefined, by: ChangedBy): Promise<void>
}

export interface TenantPipelinesNeeds extends Omit<DefinitionsNeeds<typeof PipelineSettings>, 'kind' | 'schema' | 'profileOf'> {
  readonly pipelines: Pipelines
  readonly profiles: Pick<Profiles, 'all'>
}

export function createTenantPipelines({ pipelines, profiles, ...needs }: TenantPipelinesNeeds): TenantPipelines {
  const definitions = createDefinitions({ ...needs, kind: 'pipeline', schema: PipelineSettings, profileOf: ({ profile }) => profile })
  const fixed = new Map(pipelines.all().map(({ name, ...pipeline }) => [name, { name, pipeline, stored: null }]))
  const fixedProfiles = new Set(profiles.all().map(({ name }) => name))

  const listed = (stored: Definition<PipelineSettings>): ListedPipeline => ({
    ...{ name: stored.name, pipeline: pipelines.resolveSetting(stored.settings), stored },
  })

  function checkNew({ name }: NamedDefinition, { scope }: PipelineSettings): void {
    if (fixed.has(name)) throw readOnly('pipeline', name, 'configuration')
    if (scope !== undefined) readScope(scope)
  }

  /** With the tenant locked, so that the profile cannot be removed at the same time. */
  const checkProfile =
    ({ tenantId }: NamedDefinition, { profile }: PipelineSettings) =>
    async (transaction: Transaction) => {
      if (profile === undefined || fixedProfiles.has(profile)) return
      if ((await findDefinition(transaction, tenantId, 'profile', profile)) === null)
        throw new HoldfastError('profile_unknown', `profile: there is no profile '${profile}'`, { profile })
    }

  return {
    async resolve(tenantId, name) {
      if (name === undefined || fixed.has(name)) return pipelines.resolve(name)
      const stored = await definitions.recall({ tenantId, name })
      return stored === null ? pipelines.resolve(name) : pipelines.resolveSetting(stored.settings)
    },
    has: async (named) => fixed.has(named.name) || (await definitions.recall(named)) !== null,
    async get(named) {
      const known = fixed.get(named.name)
      if (known !== undefined) return known
      const stored = await definitions.get(named)
      if (stored === null) throw new HoldfastError('not_found', `there is no pipeline '${named.name}'`, { pipeline: named.name })
      return listed(stored)
    },
    readOnly: [...fixed.values()],
    stored: async (...asked) => (await definitions.list(...asked)).map(listed),
    async create(named, settings, by) {
      checkNew(named, settings)
      return listed(await definitions.create(named, settings, by, checkProfile(named, settings)))
    },
    async replace(named, settings, ifVersion, by) {
      checkNew(named, settings)
      const check = checkProfile(named, settings)
      return listed(await definitions.replace(named, settings, ifVersion, by, (_before, transaction) => check(transaction)))
    },
    async remove(named, ifVersion, by) {
      // One that the configuration hides can still be removed.
      if (fixed.has(named.name) && (await definitions.get(named)) === null) throw readOnly('pipeline', named.name, 'configuration')
      await definitions.remove(named, ifVersion, by)
    },
  }
}
