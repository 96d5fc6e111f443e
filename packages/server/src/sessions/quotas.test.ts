/** Quotas on SQLite, and that counting is a matter of the index. */
import { expect, test } from 'vitest'
import { migrate } from '../store/migrate.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import type { Sql } from '../store/store.ts'
import { countSessions } from '../store/tables/tenants.ts'
import { quotasContract } from './contract/quotas-contract.ts'

quotasContract('SQLite', () => openSqliteStore(':memory:'))

test('counting reads the index of open sessions and nothing else', async () => {
  const store = await openSqliteStore(':memory:')
  await migrate(store)
  const plans: string[] = []
  await store.read(async (sql) => {
    const explaining: Sql = {
      ...sql,
      async get(text, ...values) {
        plans.push(...(await sql.all(`EXPLAIN QUERY PLAN ${text}`, ...values)).map(({ detail }) => String(detail)))
        return sql.get(text, ...values)
      },
    }
    await countSessions(explaining, 'tnt_default', 'alice')
  })
  expect(plans).toEqual([expect.stringContaining('USING COVERING INDEX sessions_open (tenant_id=?)')])
  await store.close()
})
