/** Restarts and places of processes on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { noPostgres, openPostgresStoreForTest } from '../../../../../test/servers/database.ts'
import { processRestartsContract } from './contract/process-restarts-contract.ts'

if (noPostgres === null) processRestartsContract('PostgreSQL', openPostgresStoreForTest)
else describe('PostgreSQL', () => test.skip(`restarts of processes (skipped: ${noPostgres})`))
