/**
 * The verifier's walk along the chains: record by record, with only the last one in memory.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { setImmediate } from 'node:timers/promises'
import type { Sql } from '../../store/store.ts'
import { hashAt, seqOfHash, storedHead } from '../../store/tables/audit.ts'
import type { AuditRow, FoundAudit, HashSearch } from '../../store/tables/audit.ts'
import { anchorIn, findAnchor } from './anchors.ts'
import { hashOf, NO_HASH } from './chain.ts'
import { checkPlace } from './check-place.ts'
import type { Report } from './check-place.ts'

export interface ChainCheck {
  /** Records come in the order of chain and sequence. */
  record(sql: Sql, found: FoundAudit): Promise<void>
  /** No record follows. */
  end(sql: Sql): Promise<void>
  chains(): number
}

/** The last record that was seen. */
interface Last {
  readonly tenantId: string
  readonly chain: string
  readonly seq: number
  /** `null`: not known, because it has been removed, or is wrong itself and reported. */
  readonly hash: string | null
}

/** `searchStep`: how many records a search for a hash reads before the event loop runs again. */
export function chainCheck(report: Report, searchStep: number): ChainCheck {
  let last: Last | null = null
  let chains = 0

  const end = async (sql: Sql) => {
    if (last !== null) await checkEnd(sql, last, report)
    last = null
  }

  return {
    end,
    chains: () => chains,

    async record(sql, found) {
      if (last !== null && last.chain !== found.chain) await end(sql)
      if (last === null) chains += 1
      const before: Last = last ?? (await beginOf(sql, found))
      const isWhole = await checkRecord(sql, before, found, report, searchStep)
      last = { ...before, seq: found.seq, hash: isWhole ? (found.row?.hash ?? null) : null }
    },
  }
}

/** What stands before the first record that is there. */
async function beginOf(sql: Sql, { chain, seq, row }: FoundAudit): Promise<Last> {
  const empty: Last = { tenantId: row?.tenantId ?? '', chain, seq: 0, hash: NO_HASH }
  if (seq <= 1 || (await findAnchor(sql, 'purged', chain)) === null) return empty
  // Being removed, oldest first: what is left is held by its end.
  return { ...empty, seq: seq - 1, hash: null }
}

/** `false` when the record itself is not as it was written: what follows is not to be blamed for it. */
async function checkRecord(sql: Sql, before: Last, { chain, seq, row }: FoundAudit, report: Report, searchStep: number): Promise<boolean> {
  const follows = seq === before.seq + 1
  if (!follows) report({ kind: 'missing', chain, seq: before.seq + 1, message: `gone, and all before ${seq}` })
  if (row === null) {
    report({ kind: 'changed', chain, seq, message: 'a column holds another kind of value' })
    return false
  }
  const isWhole = hashOf(row) === row.hash
  if (!isWhole) {
    const isMoved = await isWholeElsewhere(sql, row, searchStep)
    const message = isMoved ? 'stands at another place than it was written to' : 'its content does not fit its hash'
    report({ kind: isMoved ? 'reordered' : 'changed', chain, seq, message })
  } else if (follows && before.hash !== null && row.previous !== before.hash) {
    report({ kind: 'changed', chain, seq, message: 'this one and the one before do not fit together' })
  }
  const anchor = anchorIn(row)
  if (anchor !== null) await checkPlace(sql, anchor, `record ${seq} of ${chain}`, report)
  return isWhole
}

/** Tries the places that its own word about the record before it points to. */
async function isWholeElsewhere(sql: Sql, row: AuditRow, searchStep: number): Promise<boolean> {
  const previous = await findHash(sql, row, searchStep)
  return [1, previous ?? 0, (previous ?? 0) + 1].some((seq) => hashOf({ ...row, seq }) === row.hash)
}

/** Where the chain has the record whose hash `previous` names; reads the chain in steps. */
async function findHash(sql: Sql, { chain, previous }: AuditRow, searchStep: number): Promise<number | null> {
  let after: number | null = null
  for (;;) {
    await setImmediate()
    const step: HashSearch = await seqOfHash(sql, chain, previous, after, searchStep)
    if (step.found !== null || step.next === null) return step.found
    after = step.next
  }
}

async function checkEnd(sql: Sql, { tenantId, chain, seq, hash }: Last, report: Report): Promise<void> {
  const isSession = chain !== tenantId
  if (isSession && (await findAnchor(sql, 'opened', chain)) === null)
    report({ kind: 'missing-anchor', chain, seq: 1, message: 'no record of the tenant speaks of its beginning' })

  const purged = isSession ? await findAnchor(sql, 'purged', chain) : null
  // Removed between two pages.
  if (purged !== null && (await hashAt(sql, chain, seq)) === null) return
  const row = await storedHead(sql, tenantId, chain)
  const head = purged ?? row
  if (head === null) return report({ kind: 'inserted', chain, seq, message: 'the chain belongs to nothing that exists' })
  if (seq < head.seq) report({ kind: 'missing', chain, seq: seq + 1, message: `gone, and all up to ${head.seq}` })
  else if (seq > head.seq) report({ kind: 'inserted', chain, seq: head.seq + 1, message: 'stands behind the head of the chain' })
  else if (hash !== null && hash !== head.hash) report({ kind: 'wrong-head', chain, seq, message: 'is not the head that is recorded' })

  if (row?.isClosed === true && (await findAnchor(sql, 'closed', chain)) === null)
    report({ kind: 'missing-anchor', chain, seq, message: 'no record of the tenant speaks of its end' })
}
