/**
 * Why the backend refuses every sandbox with the configured defaults: limits or a network that it cannot give here.
 *
 * A default profile needs no check here: the server does not start when it cannot be honoured.
 */
import type { Capabilities } from '../sandboxes/backend.ts'
import type { Limits } from '../sandboxes/spec.ts'

export interface ConfiguredDefaults {
  readonly profile: string | null
  readonly network: 'off' | 'on'
  readonly limits: Pick<Limits, 'cpus' | 'memoryBytes' | 'pids'>
}

/** One reason per cause, each with its fix; empty where sandboxes can be made. */
export function defaultObstacles({ profile, network, limits }: ConfiguredDefaults, capabilities: Capabilities): readonly string[] {
  if (profile !== null) return []
  const { reasons } = capabilities
  const missing = [
    ...(limits.cpus !== null && !capabilities.limits.cpus ? [`CPUs cannot be limited: ${reasons.cpus}`] : []),
    ...(limits.memoryBytes !== null && !capabilities.limits.memory ? [`memory cannot be limited: ${reasons.memory}`] : []),
    ...(limits.pids !== null && !capabilities.limits.pids ? [`processes cannot be limited: ${reasons.pids}`] : []),
  ]
  const advice = missing.length === 0 ? [] : ['or give up these limits with --limits none (HOLDFAST_LIMITS=none)']
  return [...missing, ...advice, ...(network === 'on' && !capabilities.networkOn ? [`the network cannot be on: ${reasons.networkOn}`] : [])]
}
