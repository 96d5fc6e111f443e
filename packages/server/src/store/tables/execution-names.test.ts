/** Names, later input and terminals of executions on SQLite. */
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import { executionNamesContract } from './contract/execution-names-contract.ts'

executionNamesContract('SQLite', () => openSqliteStore(':memory:'))
