/** Restarts and places of processes on SQLite. */
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import { processRestartsContract } from './contract/process-restarts-contract.ts'

processRestartsContract('SQLite', () => openSqliteStore(':memory:'))
