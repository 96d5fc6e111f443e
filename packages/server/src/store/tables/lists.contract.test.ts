/** Lists on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { noPostgres, openPostgresStoreForTest } from '../../../../../test/servers/database.ts'
import { listsContract } from './contract/lists-contract.ts'

if (noPostgres === null) listsContract('PostgreSQL', openPostgresStoreForTest)
else describe('PostgreSQL', () => test.skip(`lists by label and sandboxes (skipped: ${noPostgres})`))
