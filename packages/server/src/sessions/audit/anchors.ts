/**
 * Anchors read back: what a tenant's chain vouches for.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { z } from 'zod'
import type { Sql } from '../../store/store.ts'
import { findAudit } from '../../store/tables/audit.ts'
import type { AuditRow } from '../../store/tables/audit.ts'
import type { ChainPlace } from './audit-record.ts'
import { anchorId } from './tenant-audit.ts'
import type { AnchorKind } from './tenant-audit.ts'

const Anchored = z.object({ anchors: z.object({ chain: z.string(), seq: z.int(), hash: z.string() }).optional() })

/** What this record vouches for; `null` for nothing, also when its body cannot be read. */
export function anchorIn(row: AuditRow): ChainPlace | null {
  if (row.chain !== row.tenantId) return null
  try {
    return Anchored.parse(JSON.parse(row.body)).anchors ?? null
  } catch {
    return null
  }
}

export async function findAnchor(sql: Sql, kind: AnchorKind, chain: string): Promise<ChainPlace | null> {
  const row = await findAudit(sql, anchorId(kind, chain))
  const place = row === null ? null : anchorIn(row)
  return place?.chain === chain ? place : null
}
