/**
 * Reads the whole audit and reports every record that is not as it was written.
 *
 * Reads page by page, each page from one snapshot, while the server works; memory does not grow with the audit. After each page the event
 * loop runs for as long as the page took, so that a verification never uses more than half of it. Three questions: does every record fit the
 * one before, does every chain end where its row and its anchors say, has every row its chain. An attacker who can write the whole database
 * can write a new audit: `known` are heads that were kept elsewhere, out of that attacker's reach.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql, Store } from '../../store/store.ts'
import { auditAfter, auditedRows, FIRST_AUDIT } from '../../store/tables/audit.ts'
import type { AuditCursor, AuditedRow } from '../../store/tables/audit.ts'
import { findAnchor } from './anchors.ts'
import type { ChainPlace } from './audit-record.ts'
import { chainCheck } from './chain-check.ts'
import type { Report } from './check-place.ts'
import { checkPlace } from './check-place.ts'

const PAGE = 250
/** Records that one step of a search for a hash reads. */
const SEARCH_STEP = 2_000

export interface VerifyNeeds {
  readonly store: Store
  readonly report: Report
  readonly pageSize?: number
  readonly searchStep?: number
  readonly known?: readonly ChainPlace[]
  readonly signal?: AbortSignal
}

export interface AuditSummary {
  readonly records: number
  readonly chains: number
  readonly problems: number
}

export async function verifyAudit(needs: VerifyNeeds): Promise<AuditSummary> {
  const { store, report, pageSize = PAGE, searchStep = SEARCH_STEP, known = [], signal } = needs
  let records = 0
  let problems = 0
  const count: Report = (problem) => {
    problems += 1
    report(problem)
  }

  const check = chainCheck(count, searchStep)
  let cursor: AuditCursor = FIRST_AUDIT
  for (let isMore = true; isMore;) {
    signal?.throwIfAborted()
    const since = performance.now()
    isMore = await store.read(async (sql) => {
      const page = await auditAfter(sql, cursor, pageSize)
      for (const found of page) await check.record(sql, found)
      records += page.length
      cursor = page.at(-1)?.cursor ?? cursor
      if (page.length < pageSize) await check.end(sql)
      return page.length === pageSize
    })
    await yieldLoop(since)
  }

  for (const table of ['tenants', 'sessions'] as const) {
    let after = ''
    for (let isMore = true; isMore;) {
      signal?.throwIfAborted()
      const since = performance.now()
      const { rows, vanished } = await store.read((sql) => vanishedChains(sql, table, after, pageSize))
      for (const chain of vanished) count({ kind: 'missing', chain, seq: 1, message: 'the whole chain is gone' })
      after = rows.at(-1)?.id ?? after
      isMore = rows.length === pageSize
      await yieldLoop(since)
    }
  }

  for (const place of known) await store.read((sql) => checkPlace(sql, place, 'a head kept elsewhere', count))
  return { records, chains: check.chains(), problems }
}

/** Lets everything else run for as long as the step that began at `since` took. */
async function yieldLoop(since: number): Promise<void> {
  await delay(performance.now() - since)
}

interface CheckedRows {
  readonly rows: readonly AuditedRow[]
  /** The chains of those rows that should have records and were not purged. */
  readonly vanished: readonly string[]
}

async function vanishedChains(sql: Sql, table: 'sessions' | 'tenants', after: string, limit: number): Promise<CheckedRows> {
  const rows = await auditedRows(sql, table, after, limit)
  const vanished: string[] = []
  for (const { id, hasVanished } of rows) if (hasVanished && (await findAnchor(sql, 'purged', id)) === null) vanished.push(id)
  return { rows, vanished }
}
