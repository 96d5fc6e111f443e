/**
 * A backend by kind and test settings, for the test and for the server process it kills.
 */
import type { BackendNeeds, SandboxBackend } from '../../packages/server/src/sandboxes/backend.ts'
import { bubblewrapBackend } from '../../packages/server/src/sandboxes/backends/bubblewrap/bubblewrap-backend.ts'
import { dockerBackend } from '../../packages/server/src/sandboxes/backends/docker/docker-backend.ts'
import { nsjailBackend } from '../../packages/server/src/sandboxes/backends/nsjail/nsjail-backend.ts'
import { podmanBackend } from '../../packages/server/src/sandboxes/backends/podman/podman-backend.ts'
import type { BackendUnderTest } from '../environment/machine.ts'

export function openBackend({ kind, settings }: BackendUnderTest, needs: BackendNeeds): SandboxBackend {
  const { dockerSocket, podmanSocket } = settings
  switch (kind) {
    case 'docker':
      return dockerBackend(needs, dockerSocket === undefined ? {} : { socket: dockerSocket })
    case 'podman':
      return podmanBackend(needs, podmanSocket === undefined ? {} : { socket: podmanSocket })
    case 'bubblewrap':
      return bubblewrapBackend(needs)
    case 'nsjail':
      return nsjailBackend(needs)
  }
}
