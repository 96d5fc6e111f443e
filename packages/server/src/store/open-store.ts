/**
 * Opens the store that the settings name, and brings it to the shape this version needs.
 *
 * Stands beside the flow: whoever starts a server calls it once.
 */
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { migrate, refuseNewer } from './migrate.ts'
import { openSqliteStore } from './sqlite/sqlite-store.ts'
import type { Store } from './store.ts'

export interface StorePlace {
  /** `postgres://…`, or `null` for the file `holdfast.db` in the home. */
  readonly url: string | null
  readonly home: string
}

export async function openStore({ url, home }: StorePlace): Promise<Store> {
  const store = url === null ? await openSqliteStore(join(home, 'holdfast.db'), { inspect: refuseNewer }) : await openPostgres(url)
  try {
    await migrate(store)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openPostgres(url: string): Promise<Store> {
  if (!/^postgres(ql)?:\/\//.test(url)) throw new HoldfastError('config_invalid', 'the database address does not begin with postgres://') // not shown: it may hold a password
  const { openPostgresStore } = await import('./postgres/postgres-store.ts')
  return openPostgresStore(url)
}
