/** Bubblewrap keeps both contracts. */
import { backendContracts } from '../../contract/contracts.ts'
import { WITHOUT_IMAGES } from '../../contract/excuses.ts'
import { bubblewrapBackend } from './bubblewrap-backend.ts'

await backendContracts('bubblewrap', (needs) => bubblewrapBackend(needs), WITHOUT_IMAGES)
