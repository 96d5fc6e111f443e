/**
 * How much each tenant keeps (execution records with their output, events, answers to repeated requests), and its quotas for that.
 *
 * Counted in memory as it is written and added to the store with every retention round, so a command pays nothing for it. Amounts are
 * kept for periods of time: a period whose data is gone by age is dropped with everything that was counted wrongly in it. After
 * `kill -9` the last few seconds are missing. Why: docs/adr/0023-kept-storage.md
 */
import { HoldfastError } from '@holdfast/protocol'
import type { QuotaName } from '@holdfast/protocol'
import type { Store, Transaction } from '../store/store.ts'
import { deleteEventsBefore, deleteOldestEvents } from '../store/tables/events.ts'
import { OLDEST, oldExecutions } from '../store/tables/executions.ts'
import type { EndedPosition, OldExecution } from '../store/tables/executions.ts'
import { deleteExpiredRequests } from '../store/tables/idempotency.ts'
import { changeKept, dropKept, KEPT_KINDS, keptAmounts } from '../store/tables/kept-storage.ts'
import type { KeptKind } from '../store/tables/kept-storage.ts'
import { tenantIds, tenantQuotas } from '../store/tables/tenants.ts'
import type { Log } from '../telemetry/log.ts'
import { outputFileBytes } from './executions/output-files.ts'
import { removeExecutions } from './executions/remove-executions.ts'
import { limitsOf } from './quotas.ts'
import type { QuotaLimits } from './quotas.ts'
import { BATCH } from './retention.ts'
import type { RetentionRule } from './retention.ts'

/** What a record costs beside its output. */
export const RECORD_BYTES = 1_024
const ANSWER_PERIOD_MS = 3_600_000
/** Above a quota only a few go at a time: each may hold two megabytes. */
const BY_QUOTA_AT_ONCE = 20
/** Periods in the time that something is kept. */
const PERIODS = 32

export const KEPT_QUOTAS: Readonly<Record<KeptKind, { readonly quota: QuotaName; readonly setting: string }>> = {
  output: { quota: 'kept_output_bytes', setting: 'quotas.output' },
  events: { quota: 'kept_events', setting: 'quotas.events' },
  answers: { quota: 'kept_answer_bytes', setting: 'quotas.answers' },
}

export interface KeptStorage {
  /** So much more is kept; `at` decides the period: when it ended, happened or expires. */
  add(tenantId: string, kind: KeptKind, amount: number, at: number): void
  /** As known here: other servers' figures are some seconds old. */
  used(tenantId: string, kind: KeptKind): number
  /** Of all tenants. */
  total(kind: KeptKind): number
  /** Throws `quota_exceeded` when the tenant keeps as much as it may. */
  assertRoom(tenantId: string, kind: KeptKind): void
  /** In this order. */
  readonly rules: readonly RetentionRule[]
  /** Adds what was counted to the store, and reads what others added. */
  refresh(): Promise<void>
}

export interface KeptStorageNeeds {
  readonly store: Store
  readonly serverId: string
  readonly clock: () => number
  readonly log: Log
  readonly outputDirectory: string
  readonly defaults: QuotaLimits
  /** How long execution records are kept after their end. */
  readonly recordMs: number
  readonly eventRetentionMs: number
}

export function createKeptStorage(needs: KeptStorageNeeds): KeptStorage {
  const { store, serverId, clock, log, outputDirectory, defaults, recordMs, eventRetentionMs } = needs
  const periods: Readonly<Record<KeptKind, number>> = {
    output: Math.max(1_000, Math.ceil(recordMs / PERIODS)),
    events: Math.max(1_000, Math.ceil(eventRetentionMs / PERIODS)),
    answers: ANSWER_PERIOD_MS,
  }
  /** Not in the store yet, by tenant, kind and period. */
  let pending = new Map<string, number>()
  let stored = new Map<string, number>()
  let limits: ReadonlyMap<string, QuotaLimits> = new Map()
  let tenants: readonly string[] = []

  const keyOf = (tenantId: string, kind: KeptKind) => `${tenantId} ${kind}`

  function add(tenantId: string, kind: KeptKind, amount: number, at: number): void {
    const until = (Math.floor(at / periods[kind]) + 1) * periods[kind]
    const key = `${keyOf(tenantId, kind)} ${until}`
    pending.set(key, (pending.get(key) ?? 0) + amount)
    stored.set(keyOf(tenantId, kind), (stored.get(keyOf(tenantId, kind)) ?? 0) + amount)
  }

  const used = (tenantId: string, kind: KeptKind) => Math.max(0, stored.get(keyOf(tenantId, kind)) ?? 0)
  const limitOf = (tenantId: string, kind: KeptKind) => (limits.get(tenantId) ?? defaults)[KEPT_QUOTAS[kind].quota]
  function isOver(tenantId: string, kind: KeptKind): boolean {
    const limit = limitOf(tenantId, kind)
    return limit !== null && used(tenantId, kind) > limit
  }

  async function refresh(): Promise<void> {
    const flushed = pending
    pending = new Map()
    try {
      if (flushed.size > 0)
        await store.write(async (transaction) => {
          for (const [key, amount] of flushed) {
            const [tenantId = '', kind, until] = key.split(' ')
            const known = KEPT_KINDS.find((each) => each === kind)
            if (known !== undefined && amount !== 0)
              await changeKept(transaction, { tenantId, kind: known, until: Number(until), serverId, amount })
          }
        }, 'process')
    } catch (error) {
      for (const [key, amount] of flushed) pending.set(key, (pending.get(key) ?? 0) + amount)
      throw error
    }
    const found = await store.read(async (sql) => ({
      amounts: await keptAmounts(sql),
      quotas: await tenantQuotas(sql),
      tenants: await tenantIds(sql),
    }))
    stored = new Map(found.amounts.map(({ tenantId, kind, amount }) => [keyOf(tenantId, kind), amount]))
    for (const [key, amount] of pending) {
      const total = key.slice(0, key.lastIndexOf(' '))
      stored.set(total, (stored.get(total) ?? 0) + amount)
    }
    limits = new Map([...found.quotas].map(([id, quotas]) => [id, limitsOf(quotas, defaults)]))
    ;({ tenants } = found)
  }

  async function remove(tenantId: string, executions: readonly OldExecution[]): Promise<void> {
    const ofSessions = Map.groupBy(executions, ({ sessionId }) => sessionId)
    for (const [sessionId, ended] of ofSessions) {
      const sizes = await Promise.all(
        ended.map(async ({ id, storedBytes }) => storedBytes ?? outputFileBytes({ directory: outputDirectory, id })),
      )
      const ids = ended.map(({ id }) => id)
      await removeExecutions({ store, outputDirectory }, sessionId, ids)
      for (const [index, { endedAt }] of ended.entries()) add(tenantId, 'output', -(RECORD_BYTES + (sizes[index] ?? 0)), endedAt)
    }
  }

  /** Walks through the tenants that `isDue`, removing from the oldest execution on. `before`: the newest end that goes; `null`: any. */
  function executionRule(name: string, isDue: (tenantId: string) => boolean, before: () => number | null, atOnce: number): RetentionRule {
    let waiting: string[] | null = null
    let after: EndedPosition = OLDEST
    return {
      name,
      async removeBatch() {
        waiting ??= tenants.filter(isDue)
        const [tenantId] = waiting
        if (tenantId === undefined) {
          waiting = null
          return false
        }
        const asked = { tenantId, serverId, now: clock(), before: before() }
        const { executions, next } = await store.read((sql) => oldExecutions(sql, asked, after, atOnce))
        await remove(tenantId, executions)
        const isDone = next === null || !isDue(tenantId)
        after = isDone ? OLDEST : next
        if (isDone) waiting.shift()
        return true
      },
    }
  }

  const inOneWrite = async (work: (transaction: Transaction) => Promise<number>) => (await store.write(work, 'process')) === BATCH

  const rules: readonly RetentionRule[] = [
    { name: 'count', removeBatch: async () => (await refresh(), false) },
    { name: 'events', removeBatch: () => inOneWrite((transaction) => deleteEventsBefore(transaction, clock() - eventRetentionMs, BATCH)) },
    { name: 'answers', removeBatch: () => inOneWrite((transaction) => deleteExpiredRequests(transaction, clock(), BATCH)) },
    executionRule(
      'executions',
      () => true,
      () => clock() - recordMs,
      BATCH,
    ),
    {
      name: 'periods',
      async removeBatch() {
        const now = clock()
        const ends = { output: now - recordMs - periods.output, events: now - eventRetentionMs, answers: now }
        await store.write(async (transaction) => {
          for (const kind of KEPT_KINDS) await dropKept(transaction, kind, ends[kind])
        }, 'process')
        return false
      },
    },
    {
      name: 'events-over-quota',
      async removeBatch() {
        const tenantId = tenants.find((id) => isOver(id, 'events'))
        if (tenantId === undefined) return false
        logOver(tenantId, 'events')
        const excess = used(tenantId, 'events') - (limitOf(tenantId, 'events') ?? 0)
        const removed = await store.write((transaction) => deleteOldestEvents(transaction, tenantId, Math.min(BATCH, excess)), 'process')
        for (const at of removed) add(tenantId, 'events', -1, at)
        // Counted and not there: the count is corrected.
        if (removed.length === 0) add(tenantId, 'events', -used(tenantId, 'events'), clock())
        return true
      },
    },
    executionRule(
      'output-over-quota',
      (tenantId) => isOver(tenantId, 'output') && logOver(tenantId, 'output'),
      () => null,
      BY_QUOTA_AT_ONCE,
    ),
  ]

  const logged = new Map<string, number>()
  /** Once an hour for each. */
  function logOver(tenantId: string, kind: KeptKind): true {
    const key = keyOf(tenantId, kind)
    if (clock() - (logged.get(key) ?? Number.NEGATIVE_INFINITY) < 3_600_000) return true
    logged.set(key, clock())
    log.warn('kept-over-quota', { tenant: tenantId, setting: KEPT_QUOTAS[kind].setting, limit: limitOf(tenantId, kind) })
    return true
  }

  return {
    add,
    used,
    total: (kind) => [...stored].reduce((sum, [key, amount]) => (key.endsWith(` ${kind}`) ? sum + Math.max(0, amount) : sum), 0),
    assertRoom(tenantId, kind) {
      const limit = limitOf(tenantId, kind)
      if (limit === null || used(tenantId, kind) < limit) return
      const { quota, setting } = KEPT_QUOTAS[kind]
      throw new HoldfastError(
        'quota_exceeded',
        `the tenant keeps ${limit} bytes of answers, as many as ${setting} allows; send the request without an Idempotency-Key, or wait until answers expire`,
        { quota, setting, limit },
      )
    },
    rules,
    refresh,
  }
}
