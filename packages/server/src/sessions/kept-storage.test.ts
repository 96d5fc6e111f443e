/** Kept storage on SQLite. */
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import { keptStorageContract } from './contract/kept-storage-contract.ts'

keptStorageContract('SQLite', () => openSqliteStore(':memory:'))
