/** Requests that are sent again, on SQLite. */
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import { idempotencyContract } from './contract/idempotency-contract.ts'

idempotencyContract('SQLite', () => openSqliteStore(':memory:'))
