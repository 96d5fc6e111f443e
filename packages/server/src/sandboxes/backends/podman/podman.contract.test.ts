/** Podman keeps both contracts. */
import { backendContracts } from '../../contract/contracts.ts'
import { podmanBackend } from './podman-backend.ts'

await backendContracts('podman', (needs, { podmanSocket }) =>
  podmanBackend(needs, podmanSocket === undefined ? {} : { socket: podmanSocket }),
)
