/**
 * Which profiles the chosen backend cannot honour, and why: found out once, at start.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * A profile that the operator configured, or that the configuration names, must be honoured or the server does not start. A built-in one
 * that nobody asked for is offered with the reason, and refused on use.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { SandboxBackend } from '../sandboxes/backend.ts'
import type { Pipelines } from './pipelines.ts'
import type { Profiles } from './profiles.ts'
import type { SandboxPolicy } from './sandbox-policy.ts'

export interface ObstaclesNeeds {
  readonly profiles: Profiles
  readonly pipelines: Pick<Pipelines, 'all'>
  readonly policy: SandboxPolicy
  readonly backend: Pick<SandboxBackend, 'check'>
}

/** The reason by name, for those that cannot be used. Throws `config_invalid` for one that is configured. */
export async function profileObstacles({ profiles, pipelines, policy, backend }: ObstaclesNeeds): Promise<ReadonlyMap<string, string>> {
  const obstacles = new Map<string, string>()
  for (const { name } of profiles.all()) {
    const reason = await obstacleOf(() => backend.check(policy.specFor(profiles.apply(name, {}), [])))
    if (reason === null) continue
    const place = placeOf(name, profiles, pipelines)
    if (place !== null)
      throw new HoldfastError('config_invalid', `${place}: the profile '${name}' cannot be honoured: ${reason}`, { key: place })
    obstacles.set(name, reason)
  }
  return obstacles
}

/** Where the configuration has or names it; `null` where it does not. */
function placeOf(name: string, profiles: Profiles, pipelines: Pick<Pipelines, 'all'>): string | null {
  if (!profiles.isBuiltIn(name)) return `profiles.${name}`
  if (profiles.usual === name) return 'profile'
  const pipeline = pipelines.all().find(({ profile }) => profile === name)
  return pipeline === undefined ? null : `pipelines.${pipeline.name}.profile`
}

/** An engine that is silent, or an image that is not there yet, may be there by the time that it is used. */
export async function obstacleOf(check: () => Promise<void>): Promise<string | null> {
  try {
    await check()
    return null
  } catch (error) {
    if (isHoldfastError(error, 'capability_unsupported')) return error.message
    if (isHoldfastError(error)) return null
    throw error
  }
}
