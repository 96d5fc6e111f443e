/**
 * A real backend whose connections a test can cut.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { Duplex } from 'node:stream'
import type { Sandbox, SandboxBackend } from '../backend.ts'

export interface TappedBackend extends SandboxBackend {
  /** Every connection made so far, the newest last. */
  readonly connections: readonly Duplex[]
  /** Ends the newest connection as if the network had. */
  cut(): void
  /** What comes before each further dial; may reject in its place. */
  beforeDial: () => Promise<void>
}

export function tappedBackend(backend: SandboxBackend): TappedBackend {
  const connections: Duplex[] = []
  const tap = (sandbox: Sandbox): Sandbox => ({
    name: sandbox.name,
    kind: sandbox.kind,
    async dial(signal) {
      await tapped.beforeDial()
      const connection = await sandbox.dial(signal)
      connections.push(connection)
      return connection
    },
  })
  const tapped: TappedBackend = {
    ...backend,
    connections,
    cut: () => void connections.at(-1)?.destroy(),
    beforeDial: () => Promise.resolve(),
    create: async (...given) => tap(await backend.create(...given)),
    attach: async (...given) => tap(await backend.attach(...given)),
  }
  return tapped
}
