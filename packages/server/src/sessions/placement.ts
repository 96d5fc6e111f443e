/**
 * Which sandbox a session gets: one of its own, or a place in one that it may share.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Only writes intent, inside the transaction that moves the session; the sandbox is made afterwards.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { randomId } from '../home/random-id.ts'
import type { BackendKind } from '../sandboxes/backend.ts'
import type { Transaction } from '../store/store.ts'
import { insertSandbox, lockRoomySandbox } from '../store/tables/sandboxes.ts'
import { countHosted } from '../store/tables/sessions.ts'
import { lockServer } from '../store/tables/servers.ts'

export interface Placement {
  readonly serverId: string
  readonly backend: BackendKind
  /** Sessions that may hold compute on this server at one time. */
  readonly maxSandboxes: number
}

export interface Tenancy {
  readonly tenantId: string
  readonly sessionId: string
  readonly pack: { readonly key: string; readonly maxSessions: number } | null
}

/** Throws `capacity_exhausted` when this server is full. */
export async function placeSession(
  transaction: Transaction,
  { serverId, backend, maxSandboxes }: Placement,
  { tenantId, sessionId, pack }: Tenancy,
  now: number,
): Promise<{ readonly sandboxId: string; readonly serverId: string }> {
  // One at a time, so that two cannot both take the last place.
  await lockServer(transaction, serverId)
  if ((await countHosted(transaction, serverId)) >= maxSandboxes) throw noPlace(maxSandboxes, '')
  const shared = pack === null ? null : await lockRoomySandbox(transaction, pack.key, serverId)
  if (shared !== null) return { sandboxId: shared.id, serverId }
  const sandboxId = randomId('sbx')
  await insertSandbox(transaction, {
    id: sandboxId,
    tenantId,
    serverId,
    sessionId: pack === null ? sessionId : null,
    backend,
    state: 'creating',
    bootId: null,
    packKey: pack?.key ?? null,
    maxSessions: pack?.maxSessions ?? 1,
    version: 1,
    createdAt: now,
  })
  return { sandboxId, serverId }
}

/** Names the setting, so that an operator knows what to change. */
export function noPlace(limit: number, reason: string): HoldfastError {
  return new HoldfastError('capacity_exhausted', `all ${limit} places for sandboxes are taken (sessions.max)${reason}`, {
    setting: 'sessions.max',
    limit,
  })
}

export function isNoPlace(error: unknown): boolean {
  return isHoldfastError(error, 'capacity_exhausted') && error.details['setting'] === 'sessions.max'
}
