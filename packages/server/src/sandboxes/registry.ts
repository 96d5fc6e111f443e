/**
 * The backends by kind, each made on first use.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Backends are imported lazily: a server on bubblewrap never loads the engine client.
 */
import type { BackendKind, BackendNeeds, SandboxBackend } from './backend.ts'

export interface BackendSettings {
  /** `unix://…` or `tcp://…`; `null` looks at the usual places. */
  readonly dockerHost: string | null
  readonly podmanHost: string | null
  /** For the service that is started where none runs, e.g. `--runtime runc`. */
  readonly podmanArgs: readonly string[]
  /** Which images may be fetched from a registry; left out: any. */
  readonly mayPull?: (reference: string) => boolean
}

export interface BackendRegistry {
  open(kind: BackendKind): Promise<SandboxBackend>
  /** Ends what backends started for themselves (a Podman service). The sandboxes stay. */
  close(): Promise<void>
}

export function createBackendRegistry(needs: BackendNeeds, settings: BackendSettings): BackendRegistry {
  const opened = new Map<BackendKind, Promise<SandboxBackend>>()
  return {
    open(kind) {
      const known = opened.get(kind)
      if (known !== undefined) return known
      const made = makeBackend(kind, needs, settings)
      opened.set(kind, made)
      return made
    },
    async close() {
      for (const made of opened.values()) {
        // One that could not be made has nothing to end; whoever asked for it was told why.
        const backend = await made.catch(() => null)
        if (backend !== null && 'close' in backend && typeof backend.close === 'function') await backend.close()
      }
      opened.clear()
    },
  }
}

async function makeBackend(kind: BackendKind, needs: BackendNeeds, settings: BackendSettings): Promise<SandboxBackend> {
  const pull = settings.mayPull ?? 'missing'
  switch (kind) {
    case 'podman': {
      const { podmanBackend } = await import('./backends/podman/podman-backend.ts')
      return podmanBackend(needs, {
        pull,
        args: settings.podmanArgs,
        ...(settings.podmanHost === null ? {} : { socket: settings.podmanHost }),
      })
    }
    case 'docker': {
      const { dockerBackend } = await import('./backends/docker/docker-backend.ts')
      return dockerBackend(needs, { pull, ...(settings.dockerHost === null ? {} : { socket: settings.dockerHost }) })
    }
    case 'nsjail': {
      const { nsjailBackend } = await import('./backends/nsjail/nsjail-backend.ts')
      return nsjailBackend(needs)
    }
    case 'bubblewrap': {
      const { bubblewrapBackend } = await import('./backends/bubblewrap/bubblewrap-backend.ts')
      return bubblewrapBackend(needs)
    }
  }
}
