/** Docker keeps both contracts. */
import { backendContracts } from '../../contract/contracts.ts'
import { dockerBackend } from './docker-backend.ts'

await backendContracts('docker', (needs, { dockerSocket }) =>
  dockerBackend(needs, dockerSocket === undefined ? {} : { socket: dockerSocket }),
)
