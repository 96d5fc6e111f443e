/**
 * Rewrites a database file once, so that nothing that was deleted or replaced before is left in its free space or its log.
 *
 * `PRAGMA user_version` remembers that it was done: a start that is killed before that does it again.
 */
import { existsSync } from 'node:fs'
import { openConnection } from './connection.ts'
import { waitWhileBusy } from './lock-wait.ts'
import { fromSqliteError } from './sqlite-error.ts'

const SCRUBBED = 1
const LOCK_WAIT_MS = 5_000

/** Needs as much free space as the file has; throws `store_unavailable` or `store_full` and leaves the file as it was. */
export async function scrubOnce(path: string): Promise<void> {
  if (!existsSync(path)) return
  const connection = openConnection(path, 'write')
  try {
    if (Number(connection.get('PRAGMA user_version', [])?.user_version) >= SCRUBBED) return
    await waitWhileBusy(LOCK_WAIT_MS, () => {
      // Large files would not fit into memory.
      connection.exec('PRAGMA temp_store = FILE; VACUUM')
      const emptied = connection.get('PRAGMA wal_checkpoint(TRUNCATE)', [])
      if (emptied?.busy === 0) connection.exec(`PRAGMA user_version = ${SCRUBBED}`)
    })
  } catch (error) {
    throw fromSqliteError(error, path)
  } finally {
    connection.close()
  }
}
