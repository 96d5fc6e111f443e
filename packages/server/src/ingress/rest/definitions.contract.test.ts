/** Stored profiles and pipelines over REST, on SQLite. */
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import { definitionsContract } from './contract/definitions-contract.ts'

definitionsContract('SQLite', () => openSqliteStore(':memory:'))
