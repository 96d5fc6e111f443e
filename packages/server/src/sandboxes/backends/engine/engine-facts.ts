/**
 * What was found out about an engine: its version, what it can do, and where it differs from the others.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { Capabilities, CapabilityName, Probe } from '../../backend.ts'
import { assertPackable } from '../../packing.ts'
import type { SandboxSpec } from '../../spec.ts'
import type { EngineTraits } from './container-plan.ts'

export interface EngineFacts {
  readonly version: string
  readonly capabilities: Capabilities
  readonly traits: EngineTraits
}

/** The engine cannot be used here: the exact reason, and what would change it. */
export function engineUnavailable(reason: string, fix: string, cause?: unknown): HoldfastError {
  return new HoldfastError('backend_unavailable', reason, { fix }, cause === undefined ? undefined : { cause })
}

export async function probeOf(facts: Promise<EngineFacts>): Promise<Probe> {
  try {
    const { version, capabilities } = await facts
    return { available: true, version, capabilities }
  } catch (error) {
    const fix =
      isHoldfastError(error) && typeof error.details['fix'] === 'string'
        ? error.details['fix']
        : 'see the reason; `holdfast doctor` checks again'
    return { available: false, reason: error instanceof Error ? error.message : String(error), fix }
  }
}

/** What limits and networks an engine reports, as capabilities. Containers always bring images and several users. */
export function engineCapabilities(found: {
  readonly engine: string
  readonly cpus: boolean
  readonly memory: boolean
  readonly pids: boolean
  readonly limitsFix: string
  /** Why there is no network to switch on, or `null` when there is one. */
  readonly networkProblem: string | null
  /** Why sessions cannot be packed, or `null` when they can. */
  readonly packingProblem: string | null
  /** Why the sandbox's user cannot write to `/usr`, `/opt` and `/var`, or `null` when it can. */
  readonly writableRootProblem: string | null
  /** Why commands cannot be root of the sandbox, or `null` when they can. */
  readonly rootUserProblem: string | null
}): Capabilities {
  const { cpus, memory, pids, networkProblem, packingProblem, writableRootProblem, rootUserProblem } = found
  const unlimited = `${found.engine} cannot enforce it on this host's cgroups; ${found.limitsFix}`
  return {
    limits: { cpus, memory, pids },
    networkOn: networkProblem === null,
    images: true,
    writableRoot: writableRootProblem === null,
    rootUser: rootUserProblem === null,
    severalUsers: true,
    packing: packingProblem === null,
    reasons: {
      ...(cpus ? {} : { cpus: unlimited }),
      ...(memory ? {} : { memory: unlimited }),
      ...(pids ? {} : { pids: unlimited }),
      ...(networkProblem === null ? {} : { networkOn: networkProblem }),
      ...(writableRootProblem === null ? {} : { writableRoot: writableRootProblem }),
      ...(rootUserProblem === null ? {} : { rootUser: rootUserProblem }),
      ...(packingProblem === null ? {} : { packing: packingProblem }),
    },
  }
}

/** Throws `capability_unsupported` with the reason unless these capabilities cover the whole spec. */
export function assertCapable(engine: string, capabilities: Capabilities, spec: SandboxSpec): void {
  const wishes: readonly (readonly [name: CapabilityName, isWished: boolean, isPossible: boolean, wish: string])[] = [
    ['cpus', spec.limits.cpus !== null, capabilities.limits.cpus, `a limit of ${spec.limits.cpus} cpus`],
    ['memory', spec.limits.memoryBytes !== null, capabilities.limits.memory, `a limit of ${spec.limits.memoryBytes} bytes of memory`],
    ['pids', spec.limits.pids !== null, capabilities.limits.pids, `a limit of ${spec.limits.pids} processes`],
    ['writableRoot', spec.rootfs === 'writable', capabilities.writableRoot, 'a writable root'],
    ['rootUser', spec.user === 'root', capabilities.rootUser, 'commands that run as root'],
    ['networkOn', spec.network === 'on', capabilities.networkOn, 'network on'],
  ]
  for (const [name, isWished, isPossible, wish] of wishes) {
    if (!isWished || isPossible) continue
    const reason = capabilities.reasons[name] ?? 'this engine cannot do it'
    throw new HoldfastError('capability_unsupported', `${engine} cannot give ${wish}: ${reason}`, { engine, capability: name })
  }
  if (spec.user === 'root' && spec.rootfs === 'read-only')
    throw new HoldfastError(
      'capability_unsupported',
      `${engine} cannot run commands as root: that needs a writable root; set rootfs to writable`,
      {
        engine,
        capability: 'rootUser',
      },
    )
  assertPackable(engine, capabilities, spec)
}
