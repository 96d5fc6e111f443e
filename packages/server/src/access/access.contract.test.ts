/** Tenants, keys and authentication on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { noPostgres, openPostgresStoreForTest } from '../../../../test/servers/database.ts'
import { accessContract } from './contract/access-contract.ts'

if (noPostgres === null) accessContract('PostgreSQL', openPostgresStoreForTest)
else describe('PostgreSQL', () => test.skip(`keeps what access promises (skipped: ${noPostgres})`))
