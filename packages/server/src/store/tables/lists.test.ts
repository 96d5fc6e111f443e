/** Lists on SQLite, and that they are a matter of their index. */
import { expect, test } from 'vitest'
import { migrate } from '../migrate.ts'
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import type { Sql } from '../store.ts'
import { listsContract } from './contract/lists-contract.ts'
import { listSessions } from './sessions.ts'

listsContract('SQLite', () => openSqliteStore(':memory:'))

const EVERYBODY = { tenantId: 'tnt_default', owner: null, groups: [] }

test('a list by label reads the index of that label in order, and never the sessions without it', async () => {
  const store = await openSqliteStore(':memory:')
  await migrate(store)
  const plans: string[] = []
  await store.read(async (sql) => {
    const explaining: Sql = {
      ...sql,
      async all(text, ...values) {
        plans.push(...(await sql.all(`EXPLAIN QUERY PLAN ${text}`, ...values)).map(({ detail }) => String(detail)))
        return []
      },
    }
    const labels = [
      { name: 'team', value: 'a' },
      { name: 'colour', value: 'red' },
    ]
    await listSessions(explaining, EVERYBODY, { labels }, { createdAt: 5, id: 'ses_x' }, 10)
  })
  expect(plans).toEqual([
    expect.stringMatching(
      /^SEARCH session_labels USING COVERING INDEX session_labels_of_value \(tenant_id=\? AND name=\? AND value=\? AND/,
    ),
    expect.stringMatching(/^SEARCH sessions USING INDEX sqlite_autoindex_sessions_1 \(id=\?\)/),
    expect.stringMatching(/^SEARCH also EXISTS USING PRIMARY KEY \(session_id=\? AND name=\?\)/),
  ])
  await store.close()
})
