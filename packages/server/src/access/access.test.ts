/** Tenants, keys and authentication on SQLite. */
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import { accessContract } from './contract/access-contract.ts'

accessContract('SQLite', () => openSqliteStore(':memory:'))
