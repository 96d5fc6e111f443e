/** Names, later input and terminals of executions on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { noPostgres, openPostgresStoreForTest } from '../../../../../test/servers/database.ts'
import { executionNamesContract } from './contract/execution-names-contract.ts'

if (noPostgres === null) executionNamesContract('PostgreSQL', openPostgresStoreForTest)
else describe('PostgreSQL', () => test.skip(`names of executions (skipped: ${noPostgres})`))
