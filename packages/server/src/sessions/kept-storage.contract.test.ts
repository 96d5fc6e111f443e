/** Kept storage on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { noPostgres, openPostgresStoreForTest } from '../../../../test/servers/database.ts'
import { keptStorageContract } from './contract/kept-storage-contract.ts'

if (noPostgres === null) keptStorageContract('PostgreSQL', openPostgresStoreForTest)
else describe('PostgreSQL', () => test.skip(`counts what is kept (skipped: ${noPostgres})`))
