/**
 * What a measure stands on: one backend that works on this machine, sandboxes of it, and how many runs to make.
 */
import { randomId } from '../packages/server/src/home/random-id.ts'
import type { BackendKind, BackendNeeds, Capabilities, SandboxBackend } from '../packages/server/src/sandboxes/backend.ts'
import { launchSandbox, type LiveSandbox } from '../packages/server/src/sandboxes/live-sandbox.ts'
import type { Limits, SandboxSpec } from '../packages/server/src/sandboxes/spec.ts'
import { openBackend } from '../test/chaos/open-backend.ts'
import type { BackendUnderTest } from '../test/environment/machine.ts'

/** The server's own defaults. */
const DEFAULT_LIMITS: Limits = { cpus: 1, memoryBytes: 536_870_912, pids: 128, tmpBytes: 67_108_864, openFiles: 1_024 }

/** Enough to open the same backend in another process. */
export interface Place {
  readonly under: BackendUnderTest
  readonly needs: BackendNeeds
  readonly spec: SandboxSpec
}

export interface Ground {
  readonly kind: BackendKind
  readonly version: string
  readonly backend: SandboxBackend
  readonly capabilities: Capabilities
  readonly place: Place
  /** As the server makes sandboxes by default. */
  readonly defaultSpec: SandboxSpec
  /** With limits, but with all processors: what is measured is Holdfast and not a quota. */
  readonly unboundSpec: SandboxSpec
  /** Limits that this host cannot enforce and that were therefore left out. */
  readonly missingLimits: readonly string[]
  pick<T>(choice: { readonly full: T; readonly quick: T }): T
  launch(spec: SandboxSpec): Promise<LiveSandbox>
  /** Lends a sandbox to the work and removes it afterwards. */
  withSandbox<T>(work: (sandbox: LiveSandbox) => Promise<T>): Promise<T>
  /** Removes every sandbox of this ground. */
  close(): Promise<void>
}

/** Throws with the probe's own reason when the backend does not work here. */
export async function createGround(under: BackendUnderTest, needs: BackendNeeds, isQuick: boolean): Promise<Ground> {
  const backend = openBackend(under, needs)
  const probe = await backend.probe()
  if (!probe.available) throw new Error(`${probe.reason}; ${probe.fix}`)
  const defaultSpec = specWith(under, enforceable(probe.capabilities))
  const unboundSpec = { ...defaultSpec, limits: { ...defaultSpec.limits, cpus: null } }
  const launch = (spec: SandboxSpec) => launchSandbox(backend, randomId('sbx'), spec)
  return {
    kind: under.kind,
    version: probe.version,
    backend,
    capabilities: probe.capabilities,
    place: { under, needs, spec: unboundSpec },
    defaultSpec,
    unboundSpec,
    missingLimits: (['cpus', 'memory', 'pids'] as const).filter((name) => !probe.capabilities.limits[name]),
    pick: ({ full, quick }) => (isQuick ? quick : full),
    launch,
    async withSandbox(work) {
      const sandbox = await launch(unboundSpec)
      try {
        return await work(sandbox)
      } finally {
        await sandbox.destroy()
      }
    },
    async close() {
      for (const { name } of await backend.list()) await backend.destroy(name)
      if ('close' in backend && typeof backend.close === 'function') await backend.close()
    },
  }
}

function specWith({ settings }: BackendUnderTest, limits: Limits): SandboxSpec {
  return { image: settings.image ?? null, network: 'off', rootfs: 'read-only', mounts: [], limits }
}

function enforceable({ limits }: Capabilities): Limits {
  return {
    ...DEFAULT_LIMITS,
    cpus: limits.cpus ? DEFAULT_LIMITS.cpus : null,
    memoryBytes: limits.memory ? DEFAULT_LIMITS.memoryBytes : null,
    pids: limits.pids ? DEFAULT_LIMITS.pids : null,
  }
}
