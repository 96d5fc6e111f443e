/**
 * One change to one session: read, decide, compare and set, with its events and its audit row, in one transaction.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The only way to change a session's row. Whoever loses a race reads again and decides anew; nothing is written twice
 * and nothing is written blindly.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Durability, Store, Transaction } from '../store/store.ts'
import { deleteCredentialValues } from '../store/tables/credentials.ts'
import { insertSession, lockSession, updateSession } from '../store/tables/sessions.ts'
import type { SessionRef, SessionRow } from '../store/tables/sessions.ts'
import type { AuditRecord } from './audit/audit-record.ts'
import { appendAudit, emptyChain } from './audit/chain.ts'
import { anchorChain } from './audit/tenant-audit.ts'
import type { Actor } from './caller.ts'
import { appendEvent } from './events/append-event.ts'
import type { EventListeners } from './events/event-listeners.ts'
import { changedNames, lendable } from './lifecycle/credentials.ts'
import { expiryOf } from './lifecycle/deadlines.ts'
import { isClosed } from './lifecycle/state.ts'
import type { EventDraft, Step } from './lifecycle/step.ts'

const MAX_RACES = 50

export interface ChangeContext {
  readonly actor: Actor
  /** For the audit: noun and verb. */
  readonly action: string
  readonly executionId?: string
  readonly durability?: Durability
}

export type Decide = (session: SessionRow, transaction: Transaction, now: number) => Step | Promise<Step>

export interface Changes {
  /** Gives the row after the change, or as it is when nothing was to be changed. Throws `not_found` for one that is not there. */
  change(ref: SessionRef, context: ChangeContext, decide: Decide): Promise<SessionRow>
  /** `null` when an open session has its key already. `decide` may write what the row refers to. */
  create(context: ChangeContext, decide: (transaction: Transaction, now: number) => Promise<Step>): Promise<SessionRow | null>
}

export interface ChangeNeeds {
  readonly store: Store
  readonly listeners: EventListeners
  readonly clock: () => number
  /** Told after the commit of every change; `before` is `null` for a new session. */
  readonly onChanged: (before: SessionRow | null, after: SessionRow, events: readonly EventDraft[]) => void
}

export function createChanges({ store, listeners, clock, onChanged }: ChangeNeeds): Changes {
  /** The row as it will be stored: a new version, and the places of its events and its audit record. */
  async function record(transaction: Transaction, before: SessionRow | null, step: Step, context: ChangeContext, now: number) {
    const { session, events } = step
    const version = before === null ? session.version : before.version + 1
    const after = { ...session, version, eventSeq: session.eventSeq + events.length }
    const head =
      events.length === 0
        ? { seq: session.auditSeq, hash: session.auditHash }
        : await appendAudit(transaction, headOf(session), auditRecord(before, after, context), now)
    return { ...after, auditSeq: head.seq, auditHash: head.hash }
  }

  async function tell(
    transaction: Transaction,
    before: SessionRow | null,
    after: SessionRow,
    step: Step,
    context: ChangeContext,
    now: number,
  ) {
    const first = after.eventSeq - step.events.length + 1
    const isMoved = before?.state !== after.state
    for (const [index, { type, reason, data }] of step.events.entries()) {
      const isOfSession = isMoved && type.startsWith('session.')
      const body = {
        from: isOfSession ? (before?.state ?? null) : null,
        to: isOfSession ? after.state : null,
        reason: reason ?? null,
        actor: context.actor,
        sandboxId: after.sandboxId ?? before?.sandboxId ?? null,
        incarnation: after.incarnation,
        version: after.version,
        deadlines: deadlinesOf(after),
        data: data ?? {},
      }
      await appendEvent(transaction, { tenantId: after.tenantId, sessionId: after.id, seq: first + index, type, at: now, body }, listeners)
    }
    const head = { ...headOf(after), seq: after.auditSeq, hash: after.auditHash }
    if (before === null) await anchorChain(transaction, 'opened', head, auditRecord(before, after, context), now)
    else if (isClosed(after.state) && !isClosed(before.state))
      await anchorChain(transaction, 'closed', head, auditRecord(before, after, context), now)
    transaction.afterCommit(() => onChanged(before, after, step.events))
  }

  async function attempt(ref: SessionRef, context: ChangeContext, decide: Decide): Promise<SessionRow> {
    return store.write(async (transaction) => {
      const now = clock()
      const before = await lockSession(transaction, ref.tenantId, ref.id)
      if (before === null) throw noSuchSession()
      const step = await decide(before, transaction, now)
      if (step.session === before) return before
      const after = await record(transaction, before, step, context, now)
      if (!(await updateSession(transaction, before, after))) throw new RaceLost()
      if (after.credentials !== before.credentials) await deleteWithdrawn(transaction, before, after)
      await tell(transaction, before, after, step, context, now)
      return after
    }, context.durability)
  }

  return {
    async change(ref, context, decide) {
      for (let race = 0; race < MAX_RACES; race += 1) {
        try {
          return await attempt(ref, context, decide)
        } catch (error) {
          if (!(error instanceof RaceLost)) throw error
        }
      }
      throw new HoldfastError('version_conflict', 'the session changes too often at the moment')
    },
    async create(context, decide) {
      try {
        return await store.write(async (transaction) => {
          const now = clock()
          const step = await decide(transaction, now)
          const after = await record(transaction, null, step, context, now)
          if (!(await insertSession(transaction, after))) throw new RaceLost()
          await tell(transaction, null, after, step, context, now)
          return after
        }, context.durability)
      } catch (error) {
        if (error instanceof RaceLost) return null
        throw error
      }
    },
  }
}

/** A value is stored only while its session lends it: whichever step ends that deletes the value in the same transaction. */
async function deleteWithdrawn(transaction: Transaction, before: SessionRow, after: SessionRow): Promise<void> {
  const lent = new Set(lendable(after).map(({ name }) => name))
  const names = before.credentials.map(({ name }) => name).filter((name) => !lent.has(name))
  await deleteCredentialValues(transaction, after.id, names)
}

/** Said alike for what is not there and for what a caller may not see. */
export function noSuchSession(): HoldfastError {
  return new HoldfastError('not_found', 'there is no such session')
}

/** Takes the transaction back; never leaves this file. */
class RaceLost extends Error {}

function headOf({ tenantId, id, auditSeq, auditHash }: SessionRow) {
  return { ...emptyChain(tenantId, id), seq: auditSeq, hash: auditHash }
}

function auditRecord(before: SessionRow | null, after: SessionRow, { actor, action, executionId }: ChangeContext): AuditRecord {
  const credentials = before === null ? [] : changedNames(before.credentials, after.credentials)
  return {
    action,
    actor,
    resource: { type: 'session', id: after.id, owner: after.owner },
    sessionId: after.id,
    ...(after.sandboxId === null ? {} : { sandboxId: after.sandboxId }),
    incarnation: after.incarnation,
    ...(executionId === undefined ? {} : { executionId }),
    decision: 'allow',
    outcome: 'success',
    ...(before === null ? {} : { before: audited(before) }),
    after: audited(after),
    ...(credentials.length === 0 ? {} : { credentials }),
    ...(after.cleanup === null ? {} : { cleanup: after.cleanup }),
  }
}

function audited(session: SessionRow) {
  return { state: session.state, version: session.version, expiresAt: expiryOf(session).at, owner: session.owner }
}

function deadlinesOf(session: SessionRow) {
  const isIdling = session.state === 'idle' && session.heldAt === null
  return {
    idleAt: isIdling ? session.activityAt + session.idleMs : null,
    leaseAt: session.leaseAt,
    lifetimeAt: session.lifetimeAt,
    expiresAt: expiryOf(session).at,
  }
}
