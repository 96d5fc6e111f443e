/**
 * How much there is of what, over all tenants: for the operator's gauges, never for a caller.
 *
 * Stands beside the flow. Both are answered from an index or a small table, whatever has been closed before.
 */
import { LIVE_STATES } from '@holdfast/protocol'
import { RowReader } from '../row-reader.ts'
import type { Sql } from '../store.ts'

/** Open sessions by state; a state that no session has counts 0. */
export async function countOpenSessions(sql: Sql): Promise<ReadonlyMap<string, number>> {
  // The condition is that of the index `sessions_open`, word for word: only then is the index enough.
  const text = `SELECT state, count(*) AS n FROM sessions WHERE state NOT IN ('released', 'cancelled', 'expired', 'failed') GROUP BY state`
  const counts = new Map<string, number>([...LIVE_STATES, 'closing'].map((state) => [state, 0]))
  for (const row of await sql.all(text)) {
    const read = new RowReader('sessions', row)
    counts.set(read.text('state'), read.number('n'))
  }
  return counts
}

/** Webhooks whose next event has been tried in vain so far. */
export async function countWebhooksBehind(sql: Sql): Promise<number> {
  const row = await sql.get(`SELECT count(*) AS n FROM webhooks WHERE state = 'active' AND attempts > 0`)
  return row === undefined ? 0 : new RowReader('webhooks', row).number('n')
}
