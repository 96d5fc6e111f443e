/** Credentials of sessions over REST, on SQLite and on PostgreSQL. */
import { describe, test } from 'vitest'
import { noPostgres, openPostgresStoreForTest } from '../../../../../test/servers/database.ts'
import { credentialsContract } from './contract/credentials-contract.ts'

credentialsContract('SQLite')

if (noPostgres === null) credentialsContract('PostgreSQL', openPostgresStoreForTest)
else describe('credentials on PostgreSQL', () => test.skip(`keep what they promise (skipped: ${noPostgres})`))
