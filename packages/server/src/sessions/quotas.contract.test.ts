/** Quotas on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { noPostgres, openPostgresStoreForTest } from '../../../../test/servers/database.ts'
import { quotasContract } from './contract/quotas-contract.ts'

if (noPostgres === null) quotasContract('PostgreSQL', openPostgresStoreForTest)
else describe('PostgreSQL', () => test.skip(`keeps quotas (skipped: ${noPostgres})`))
