/**
 * Reads the whole audit and reports every record that is not as it was written.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Goes in pages, each of one moment, while the server works; its memory does not grow with the audit. Three questions: does every record
 * fit the one before, does every chain end where its row and its anchors say, has every row its chain. Who can write the whole
 * database can write a new audit: `known` are heads that were kept elsewhere, which such a one does not reach.
 */
import type { Sql, Store } from '../../store/store.ts'
import { auditAfter, FIRST_AUDIT, rowsWithoutAudit } from '../../store/tables/audit.ts'
import type { AuditCursor } from '../../store/tables/audit.ts'
import { findAnchor } from './anchors.ts'
import type { ChainPlace } from './audit-record.ts'
import { chainCheck } from './chain-check.ts'
import type { Report } from './check-place.ts'
import { checkPlace } from './check-place.ts'

const PAGE = 500

export interface VerifyNeeds {
  readonly store: Store
  readonly report: Report
  readonly pageSize?: number
  readonly known?: readonly ChainPlace[]
  readonly signal?: AbortSignal
}

export interface AuditSummary {
  readonly records: number
  readonly chains: number
  readonly problems: number
}

export async function verifyAudit({ store, report, pageSize = PAGE, known = [], signal }: VerifyNeeds): Promise<AuditSummary> {
  let records = 0
  let problems = 0
  const count: Report = (problem) => {
    problems += 1
    report(problem)
  }

  const check = chainCheck(count)
  let cursor: AuditCursor = FIRST_AUDIT
  for (let isMore = true; isMore;) {
    signal?.throwIfAborted()
    isMore = await store.read(async (sql) => {
      const page = await auditAfter(sql, cursor, pageSize)
      for (const found of page) await check.record(sql, found)
      records += page.length
      cursor = page.at(-1)?.cursor ?? cursor
      if (page.length < pageSize) await check.end(sql)
      return page.length === pageSize
    })
  }

  for (const table of ['tenants', 'sessions'] as const) {
    let after = ''
    for (let isMore = true; isMore;) {
      signal?.throwIfAborted()
      const chains = await store.read((sql) => vanishedChains(sql, table, after, pageSize))
      for (const { chain, isPurged } of chains) if (!isPurged) count({ kind: 'missing', chain, seq: 1, message: 'the whole chain is gone' })
      after = chains.at(-1)?.chain ?? after
      isMore = chains.length === pageSize
    }
  }

  for (const place of known) await store.read((sql) => checkPlace(sql, place, 'a head kept elsewhere', count))
  return { records, chains: check.chains(), problems }
}

interface Vanished {
  readonly chain: string
  readonly isPurged: boolean
}

async function vanishedChains(sql: Sql, table: 'sessions' | 'tenants', after: string, limit: number): Promise<readonly Vanished[]> {
  const vanished: Vanished[] = []
  for (const chain of await rowsWithoutAudit(sql, table, after, limit))
    vanished.push({ chain, isPurged: (await findAnchor(sql, 'purged', chain)) !== null })
  return vanished
}
