/** nsjail keeps both contracts. */
import { backendContracts } from '../../contract/contracts.ts'
import { WITHOUT_IMAGES } from '../../contract/excuses.ts'
import { nsjailBackend } from './nsjail-backend.ts'

await backendContracts('nsjail', (needs) => nsjailBackend(needs), WITHOUT_IMAGES)
