/**
 * Pipelines: for each kind of conversation that an operator configured, its scope, its profile and its skills.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * What a pipeline leaves out is what a request without one gets. A scope that is forced on everybody wins.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { Profiles } from './profiles.ts'
import { DEFAULT_SCOPE } from './scopes/choices.ts'
import { readScope } from './scopes/scope.ts'

export interface ResolvedPipeline {
  readonly scope: string
  /** `undefined`: the server's own settings. */
  readonly profile: string | undefined
  readonly skills: readonly string[]
}

export interface Pipelines {
  /** For no name: what a request without a pipeline gets. Throws `pipeline_unknown`. */
  resolve(name: string | undefined): ResolvedPipeline
  /** The same for settings at hand. */
  resolveSetting(setting: PipelineSetting): ResolvedPipeline
  /** In the order of the configuration. */
  all(): readonly (ResolvedPipeline & { readonly name: string })[]
}

/** As it is configured. */
export interface PipelineSetting {
  readonly scope?: string | undefined
  readonly profile?: string | undefined
  readonly skills?: readonly string[] | undefined
}

export interface PipelinesNeeds {
  readonly settings: Readonly<Record<string, PipelineSetting>>
  readonly profiles: Pick<Profiles, 'usual' | 'get'>
  readonly defaultScope?: string | undefined
  readonly forcedScope?: string | undefined
}

/** Throws `config_invalid` naming the pipeline and its field. */
export function createPipelines({ settings, profiles, defaultScope = DEFAULT_SCOPE, forcedScope }: PipelinesNeeds): Pipelines {
  const resolved = ({ scope, profile, skills = [] }: PipelineSetting): ResolvedPipeline => ({
    scope: forcedScope ?? scope ?? defaultScope,
    profile: profile ?? profiles.usual ?? undefined,
    skills,
  })
  const usual = resolved({})
  const known = new Map<string, ResolvedPipeline>()
  for (const [name, setting] of Object.entries(settings)) {
    const { scope, profile } = setting
    if (scope !== undefined) configured(`pipelines.${name}.scope`, () => readScope(scope))
    if (profile !== undefined) configured(`pipelines.${name}.profile`, () => profiles.get(profile))
    known.set(name, resolved(setting))
  }
  return {
    resolve(name) {
      if (name === undefined) return usual
      const pipeline = known.get(name)
      if (pipeline !== undefined) return pipeline
      const names = [...known.keys()].join(', ') || 'none'
      throw new HoldfastError('pipeline_unknown', `pipeline: there is no pipeline '${name}'; configured are ${names}`, { pipeline: name })
    },
    resolveSetting: resolved,
    all: () => [...known].map(([name, pipeline]) => ({ name, ...pipeline })),
  }
}

function configured(key: string, read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    throw new HoldfastError('config_invalid', `${key}: ${error.message}`, { ...error.details, key }, { cause: error })
  }
}
