/**
 * Opens the store that the settings name, and brings it to the shape this version needs.
 *
 * Stands beside the flow: whoever starts a server calls it once.
 */
import { HoldfastError } from '@holdfast/protocol'
import { databasePathOf } from '../home/home-health.ts'
import { unobserved } from '../telemetry/observations.ts'
import type { StoreObserver } from '../telemetry/observations.ts'
import { untraced } from '../telemetry/tracing.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { migrate, refuseNewer } from './migrate.ts'
import { timedStore, tracedStore } from './observed-store.ts'
import { openSqliteStore } from './sqlite/sqlite-store.ts'
import type { Store } from './store.ts'

export interface StorePlace {
  /** `postgres://…`, or `null` for the file `holdfast.db` in the home. */
  readonly url: string | null
  readonly home: string
  /** The disk is full; `true` when there is room now, and the write is tried once more. */
  readonly onFull?: () => boolean
  /** A database of an older version was brought to this one. */
  readonly onMigrated?: (from: number, to: number) => void
}

export async function openStore(
  { url, home, onFull, onMigrated }: StorePlace,
  observer: StoreObserver & { readonly tracing: Tracing } = unobserved,
): Promise<Store> {
  const { transactionRetried: onRetry, tracing } = observer
  const store =
    url === null
      ? await openSqliteStore(databasePathOf(home), { inspect: refuseNewer, onRetry, onFull })
      : await openPostgres(url, observer)
  try {
    const { from, to } = await migrate(store)
    if (from > 0 && to > from) onMigrated?.(from, to)
    return timedStore(tracing === untraced ? store : tracedStore(store, tracing), observer)
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openPostgres(url: string, observer: StoreObserver): Promise<Store> {
  if (!/^postgres(ql)?:\/\//.test(url)) throw new HoldfastError('config_invalid', 'the database address does not begin with postgres://') // not shown: it may hold a password
  const { openPostgresStore } = await import('./postgres/postgres-store.ts')
  return openPostgresStore(url, observer)
}
