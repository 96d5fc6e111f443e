/**
 * Run after vitest by `npm test`: ends whatever a test run that no longer lives has left behind. Does nothing after an orderly end.
 */
import { cleanUpAbandoned } from './clean-up.ts'

await cleanUpAbandoned()
