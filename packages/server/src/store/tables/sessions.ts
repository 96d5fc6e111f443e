/**
 * The table of sessions: rows in and out, and every question that is asked of it.
 *
 * Stands beside the flow. There is no update without a condition: a change names the row as it was read, and answers
 * whether that still stood. Every question names the tenant, except the server's own about what it hosts.
 */
import {
  CLOSE_REASONS,
  CREDENTIAL_FORMS,
  DEADLINES,
  HOME_KINDS,
  MOUNT_MODES,
  PENDING_REASONS,
  ROOT_KINDS,
  SANDBOX_USERS,
  SESSION_STATES,
  SUSPEND_REASONS,
  WORKSPACE_MODES,
  WORKSPACE_VERDICTS,
} from '@holdfast/protocol'
import type { CloseReason, Deadline, PendingReason, SandboxWish, SessionState, SuspendReason, WorkspaceVerdict } from '@holdfast/protocol'
import { z } from 'zod'
import { KeptRows } from '../kept-rows.ts'
import { RowReader } from '../row-reader.ts'
import type { Row, Sql, SqlValue, Transaction } from '../store.ts'
import { deleteLabels, insertLabels, labelSource } from './session-labels.ts'
import type { LabelMatch } from './session-labels.ts'

const TextMap = z.record(z.string(), z.string())
/** As it was accepted once: bounds that a later version draws otherwise do not make it wrong. */
const StoredWish = z.object({
  profile: z.string().optional(),
  pipeline: z.string().optional(),
  image: z.string().optional(),
  network: z.enum(['off', 'on']).optional(),
  rootfs: z.enum(ROOT_KINDS).optional(),
  home: z.enum(HOME_KINDS).optional(),
  home_generation: z.int().optional(),
  user: z.enum(SANDBOX_USERS).optional(),
  workspace: z
    .object({ source: z.string().optional(), mode: z.enum(WORKSPACE_MODES).optional(), target: z.string().optional() })
    .optional(),
  mounts: z.array(z.object({ source: z.string(), target: z.string(), mode: z.enum(MOUNT_MODES) })).optional(),
  timeout_ms: z.number().optional(),
  max_timeout_ms: z.number().optional(),
  profile_version: z.number().optional(),
  skills: z.array(z.string()).optional(),
  limits: z
    .object({
      cpus: z.number().nullable().optional(),
      memory_bytes: z.number().nullable().optional(),
      pids: z.number().nullable().optional(),
      tmp_bytes: z.number().optional(),
      open_files: z.number().optional(),
      workspace_bytes: z.number().nullable().optional(),
    })
    .optional(),
})
/** A wish with every field that it left open filled in, and with the times that its profile gives to commands. */
export type CompleteWish = SandboxWish & {
  /** Of a command that names none. */
  readonly timeout_ms?: number | undefined
  /** The longest that a command may have. */
  readonly max_timeout_ms?: number | undefined
  /** Of a stored profile, when the session was made. */
  readonly profile_version?: number | undefined
  /** Of its pipeline, when the session was made. */
  readonly skills?: readonly string[] | undefined
  /** How often the home was reset. Each reset names a new directory, so that no crash shows half of an old one. */
  readonly home_generation?: number | undefined
}
const Failure = z.object({ code: z.string(), message: z.string() })
const PendingTransfer = z.object({ owner: z.string(), owner_group: z.string().nullable(), by: z.string(), at: z.int() })
/** What a clean-up did. `verified` is false when something could not be proved gone. */
const Cleanup = z.object({
  executions: z.int(),
  killed: z.int(),
  verified: z.boolean(),
  sandbox: z.enum(['none', 'destroyed', 'kept', 'quarantined']),
  workspace: z.enum(['deleted', 'kept']),
})
export type Cleanup = z.output<typeof Cleanup>

const LentCredential = z.object({
  name: z.string(),
  as: z.enum(CREDENTIAL_FORMS),
  bytes: z.int(),
  onSuspend: z.enum(['remove', 'keep']),
  createdAt: z.int(),
  replacedAt: z.int().nullable(),
  /** Its value is gone from the store; `end`: the executions that received it are being ended, `keep`: they run on. */
  removal: z.enum(['end', 'keep']).nullable(),
})
/** A credential as its session lists it. The value is in the table of credentials, sealed. */
export type LentCredential = z.output<typeof LentCredential>
const LentCredentials = LentCredential.array()
const NO_CREDENTIALS: readonly LentCredential[] = []

const ON_IDLE = ['suspend', 'release'] as const
const ON_CLOSE = ['delete', 'keep'] as const

export interface SessionRow {
  readonly id: string
  readonly tenantId: string
  readonly owner: string
  readonly ownerGroup: string | null
  /** As people read it; `keyHash` is what is compared. */
  readonly key: string
  readonly keyHash: string
  readonly scope: string | null
  readonly labels: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly createdBy: string

  readonly state: SessionState
  readonly version: number
  readonly incarnation: number
  readonly pendingReason: PendingReason | null
  readonly suspendReason: SuspendReason | null
  readonly closeReason: CloseReason | null
  /** What led to it: a deadline's name, `caller`, `tenant_terminated`, or an error code. */
  readonly closeDetail: string | null
  readonly failure: z.output<typeof Failure> | null
  readonly cleanup: Cleanup | null
  readonly heldAt: number | null
  readonly heldBy: string | null
  readonly heldReason: string | null
  /** Waits for the owner's consent. */
  readonly pendingTransfer: z.output<typeof PendingTransfer> | null

  /** Complete: later defaults of the server do not change a session that exists. */
  readonly wish: CompleteWish
  /** The packing profile that was asked for. */
  readonly pack: string | null
  readonly packKey: string | null
  readonly packUid: number | null
  /** The server that hosts it; only that one moves it. */
  readonly serverId: string | null
  readonly sandboxId: string | null
  readonly workspace: WorkspaceVerdict
  readonly workspaceOnClose: (typeof ON_CLOSE)[number]
  readonly notice: string | null
  readonly running: number
  readonly executionCount: number
  readonly credentials: readonly LentCredential[]

  readonly onIdle: (typeof ON_IDLE)[number]
  readonly idleMs: number
  readonly leaseMs: number | null
  readonly leaseAt: number | null
  readonly lifetimeAt: number | null
  readonly retentionMs: number
  readonly recordMs: number
  readonly createdAt: number
  readonly activityAt: number
  readonly suspendedAt: number | null
  readonly closingAt: number | null
  readonly drainUntil: number | null
  readonly closedAt: number | null
  readonly deadlineAt: number | null
  readonly deadline: Deadline | null

  readonly eventSeq: number
  readonly auditSeq: number
  readonly auditHash: string
}

/** Which sessions exist for somebody: all of a tenant (`owner` is `null`), or an owner's own and those of the groups. */
export interface Visible {
  readonly tenantId: string
  readonly owner: string | null
  readonly groups: readonly string[]
}

const OVER = `('released', 'cancelled', 'expired', 'failed')`

function parse(row: Row): SessionRow {
  const read = new RowReader('sessions', row)
  return {
    id: read.text('id'),
    tenantId: read.text('tenant_id'),
    owner: read.text('owner'),
    ownerGroup: read.textOrNull('owner_group'),
    key: read.text('key'),
    keyHash: read.text('key_hash'),
    scope: read.textOrNull('scope'),
    labels: read.json('labels', TextMap),
    metadata: read.json('metadata', TextMap),
    createdBy: read.text('created_by'),

    state: read.word('state', SESSION_STATES),
    version: read.number('version'),
    incarnation: read.number('incarnation'),
    pendingReason: read.wordOrNull('pending_reason', PENDING_REASONS),
    suspendReason: read.wordOrNull('suspend_reason', SUSPEND_REASONS),
    closeReason: read.wordOrNull('close_reason', CLOSE_REASONS),
    closeDetail: read.textOrNull('close_detail'),
    failure: read.jsonOrNull('failure', Failure),
    cleanup: read.jsonOrNull('cleanup', Cleanup),
    heldAt: read.numberOrNull('held_at'),
    heldBy: read.textOrNull('held_by'),
    heldReason: read.textOrNull('held_reason'),
    pendingTransfer: read.jsonOrNull('pending_transfer', PendingTransfer),

    wish: read.json('wish', StoredWish),
    pack: read.textOrNull('pack'),
    packKey: read.textOrNull('pack_key'),
    packUid: read.numberOrNull('pack_uid'),
    serverId: read.textOrNull('server_id'),
    sandboxId: read.textOrNull('sandbox_id'),
    workspace: read.word('workspace', WORKSPACE_VERDICTS),
    workspaceOnClose: read.word('workspace_on_close', ON_CLOSE),
    notice: read.textOrNull('notice'),
    running: read.number('running'),
    executionCount: read.number('execution_count'),
    credentials: read.jsonOrNull('credentials', LentCredentials) ?? NO_CREDENTIALS,

    onIdle: read.word('on_idle', ON_IDLE),
    idleMs: read.number('idle_ms'),
    leaseMs: read.numberOrNull('lease_ms'),
    leaseAt: read.numberOrNull('lease_at'),
    lifetimeAt: read.numberOrNull('lifetime_at'),
    retentionMs: read.number('retention_ms'),
    recordMs: read.number('record_ms'),
    createdAt: read.number('created_at'),
    activityAt: read.number('activity_at'),
    suspendedAt: read.numberOrNull('suspended_at'),
    closingAt: read.numberOrNull('closing_at'),
    drainUntil: read.numberOrNull('drain_until'),
    closedAt: read.numberOrNull('closed_at'),
    deadlineAt: read.numberOrNull('deadline_at'),
    deadline: read.wordOrNull('deadline', DEADLINES),

    eventSeq: read.number('event_seq'),
    auditSeq: read.number('audit_seq'),
    auditHash: read.text('audit_hash'),
  }
}

/** `false` when an open session of this owner has the key already. */
export async function insertSession(transaction: Transaction, session: SessionRow): Promise<boolean> {
  const entries = Object.entries(session)
  const columns = entries.map(([name]) => columnOf(name)).join(', ')
  const places = entries.map(() => '?').join(', ')
  const values = entries.map(([, value]) => sqlValueOf(value))
  if ((await transaction.run(`INSERT INTO sessions (${columns}) VALUES (${places}) ON CONFLICT DO NOTHING`, ...values)) !== 1) return false
  await insertLabels(transaction, session)
  return true
}

/** Writes what differs, if the row still is as it was read; otherwise changes nothing and answers `false`. */
export async function updateSession(transaction: Transaction, before: SessionRow, after: SessionRow): Promise<boolean> {
  const changed = Object.entries(after).filter(([name, value]) => value !== Reflect.get(before, name))
  const assignments = changed.map(([name]) => `${columnOf(name)} = ?`).join(', ')
  const values = changed.map(([, value]) => sqlValueOf(value))
  const text = `UPDATE sessions SET ${assignments} WHERE id = ? AND tenant_id = ? AND version = ?`
  if ((await transaction.run(text, ...values, before.id, before.tenantId, before.version)) !== 1) return false
  if (after.labels !== before.labels) {
    await deleteLabels(transaction, before)
    await insertLabels(transaction, after)
  }
  transaction.afterCommit(() => keptOf(transaction).keep(after))
  return true
}

const MOST_KEPT = 512
const kept = new WeakMap<object, KeptRows<SessionRow>>()

function keptOf({ origin }: Sql): KeptRows<SessionRow> {
  const known = kept.get(origin) ?? new KeptRows<SessionRow>(MOST_KEPT)
  kept.set(origin, known)
  return known
}

/** The one row of which this is true: the kept one, if the database has the same version, or else as it is there. */
async function current(sql: Sql, where: string, ...values: readonly SqlValue[]): Promise<SessionRow | null> {
  const row = await sql.get(`SELECT id, version FROM sessions WHERE ${where}`, ...values)
  if (row === undefined) return null
  const head = new RowReader('sessions', row)
  const id = head.text('id')
  return keptOf(sql).get(id, head.number('version')) ?? one(await sql.get(`SELECT * FROM sessions WHERE id = ?`, id))
}

/** For the one who is about to change it. */
export async function lockSession(transaction: Transaction, tenantId: string, id: string): Promise<SessionRow | null> {
  return current(transaction, `id = ? AND tenant_id = ? ${transaction.forUpdate}`, id, tenantId)
}

export async function findSession(sql: Sql, visible: Visible, id: string): Promise<SessionRow | null> {
  const { text, values } = condition(visible)
  return current(sql, `id = ? AND ${text}`, id, ...values)
}

/** The open one of this owner with this key, if any. */
export async function findOpenSession(sql: Sql, tenantId: string, owner: string, keyHash: string): Promise<SessionRow | null> {
  return current(sql, `tenant_id = ? AND owner = ? AND key_hash = ? AND state NOT IN ${OVER}`, tenantId, owner, keyHash)
}

/** All of one owner that are not over, on one server. */
export async function hostedSessionsOf(sql: Sql, serverId: string, owner: string): Promise<readonly SessionRow[]> {
  const rows = await sql.all(`SELECT * FROM sessions WHERE server_id = ? AND owner = ? AND state NOT IN ${OVER}`, serverId, owner)
  return rows.map(parse)
}

export interface SessionFilter {
  readonly states?: readonly SessionState[]
  readonly owner?: string
  readonly keyHash?: string
  /** As people read it: several sessions of one owner may have had it. */
  readonly key?: string
  readonly sandboxId?: string
  /** All of them. */
  readonly labels?: readonly LabelMatch[]
}

/** Where a page ended. */
export interface SessionCursor {
  readonly createdAt: number
  readonly id: string
}

/** Newest first. */
export async function listSessions(
  sql: Sql,
  visible: Visible,
  filter: SessionFilter,
  after: SessionCursor | null,
  limit: number,
): Promise<readonly SessionRow[]> {
  const { text, values } = condition(visible)
  const source = labelSource(visible.tenantId, filter.labels ?? [])
  const [time, id] = source.order
  const conditions = [text]
  const wanted: SqlValue[] = [...source.values, ...values]
  const equal = (column: string, value: string | undefined) => {
    if (value === undefined) return
    conditions.push(`${column} = ?`)
    wanted.push(value)
  }
  if (filter.states !== undefined) {
    conditions.push(`state IN (${filter.states.map(() => '?').join(', ')})`)
    wanted.push(...filter.states)
  }
  equal('owner', filter.owner)
  equal('key_hash', filter.keyHash)
  equal('key', filter.key)
  equal('sandbox_id', filter.sandboxId)
  if (after !== null) {
    conditions.push(`(${time}, ${id}) < (?, ?)`)
    wanted.push(after.createdAt, after.id)
  }
  const order = `ORDER BY ${time} DESC, ${id} DESC LIMIT ?`
  const rows = await sql.all(`SELECT sessions.* FROM ${source.from} AND ${conditions.join(' AND ')} ${order}`, ...wanted, limit)
  return rows.map(parse)
}

/** A query for the ids of those with a label that are not over. */
export function openSessionIds(visible: Visible, label: LabelMatch): { readonly text: string; readonly values: readonly SqlValue[] } {
  const { text, values } = condition(visible)
  const source = labelSource(visible.tenantId, [label])
  return { text: `SELECT sessions.id FROM ${source.from} AND ${text} AND state NOT IN ${OVER}`, values: [...source.values, ...values] }
}

/** Ids of what is due on one server, the longest overdue first. */
export async function dueSessions(sql: Sql, serverId: string, now: number, limit: number): Promise<readonly SessionRef[]> {
  const text = `SELECT id, tenant_id FROM sessions WHERE server_id = ? AND deadline_at <= ? ORDER BY deadline_at LIMIT ?`
  return (await sql.all(text, serverId, now, limit)).map(ref)
}

/**
 * What is to end and is on servers whose promise ended before that time, the longest overdue first. One that would only be suspended
 * is left as it is for as long as its suspended files would be kept: its server may come back, and with it the files.
 */
export async function abandonedSessions(
  sql: Sql,
  serverId: string,
  deadBefore: number,
  now: number,
  limit: number,
): Promise<readonly SessionRow[]> {
  const text = `SELECT sessions.* FROM sessions JOIN servers ON servers.id = sessions.server_id
    WHERE servers.id <> ? AND servers.alive_until < ?
      AND sessions.deadline_at <= ? - CASE deadline WHEN 'idle' THEN retention_ms
        WHEN 'drained' THEN idle_ms + retention_ms WHEN 'provision' THEN idle_ms + retention_ms ELSE 0 END
    ORDER BY sessions.deadline_at LIMIT ?`
  return (await sql.all(text, serverId, deadBefore, now, limit)).map(parse)
}

/** When the next one is due on this server. */
export async function earliestDeadline(sql: Sql, serverId: string): Promise<number | null> {
  const text = `SELECT deadline_at FROM sessions WHERE server_id = ? AND deadline_at IS NOT NULL ORDER BY deadline_at LIMIT 1`
  const row = await sql.get(text, serverId)
  return row === undefined ? null : new RowReader('sessions', row).number('deadline_at')
}

/** Those on one server whose clean-up is not over. */
export async function closingSessions(sql: Sql, serverId: string): Promise<readonly SessionRef[]> {
  return (await sql.all(`SELECT id, tenant_id FROM sessions WHERE server_id = ? AND state = 'closing'`, serverId)).map(ref)
}

/** Those on one server that still live though their tenant is being terminated. */
export async function sessionsOfEndedTenants(sql: Sql, serverId: string, limit: number): Promise<readonly SessionRef[]> {
  // The inner question is answered by the index of open sessions alone, and mostly with nothing.
  const text = `SELECT id, tenant_id FROM sessions WHERE server_id = ? AND state IN ('pending', 'idle', 'active', 'suspended')
    AND tenant_id IN (SELECT tenants.id FROM tenants WHERE tenants.state = 'terminating' AND EXISTS
      (SELECT 1 FROM sessions AS open WHERE open.tenant_id = tenants.id AND open.state NOT IN ${OVER})) LIMIT ?`
  return (await sql.all(text, serverId, limit)).map(ref)
}

export interface SessionRef {
  readonly id: string
  readonly tenantId: string
}

/** Everything this server hosts that is not over, for repair at its start. */
export async function hostedSessions(sql: Sql, serverId: string): Promise<readonly SessionRow[]> {
  const rows = await sql.all(`SELECT * FROM sessions WHERE server_id = ? AND state NOT IN ${OVER}`, serverId)
  return rows.map(parse)
}

export async function sessionsInSandbox(sql: Sql, sandboxId: string): Promise<readonly SessionRow[]> {
  return (await sql.all(`SELECT * FROM sessions WHERE sandbox_id = ?`, sandboxId)).map(parse)
}

/** Answered by the index `sessions_hosted`: a session that holds compute, or is about to, names its sandbox. */
const HOSTED = `server_id = ? AND sandbox_id IS NOT NULL AND state IN ('pending', 'idle', 'active')`

export interface HostedSession extends SessionRef {
  readonly sandboxId: string
  readonly packUid: number | null
  readonly isReady: boolean
  readonly running: number
  readonly isHeld: boolean
  readonly activityAt: number
}

/** The sessions that hold compute on this server, the longest without activity first. */
export async function sessionsWithCompute(sql: Sql, serverId: string): Promise<readonly HostedSession[]> {
  const columns = 'id, tenant_id, sandbox_id, pack_uid, state, running, held_at, activity_at'
  const rows = await sql.all(`SELECT ${columns} FROM sessions WHERE ${HOSTED} ORDER BY activity_at, id`, serverId)
  return rows.map((row) => {
    const read = new RowReader('sessions', row)
    return {
      ...{ id: read.text('id'), tenantId: read.text('tenant_id'), sandboxId: read.text('sandbox_id') },
      packUid: read.numberOrNull('pack_uid'),
      isReady: read.text('state') !== 'pending',
      running: read.number('running'),
      isHeld: read.numberOrNull('held_at') !== null,
      activityAt: read.number('activity_at'),
    }
  })
}

/** How many sessions on this server hold compute or are about to. */
export async function countHosted(sql: Sql, serverId: string): Promise<number> {
  const text = `SELECT count(*) AS n FROM sessions WHERE ${HOSTED}`
  const row = await sql.get(text, serverId)
  return row === undefined ? 0 : new RowReader('sessions', row).number('n')
}

/** Uids taken by open sessions that may share a sandbox. */
export async function uidsInPack(sql: Sql, packKey: string): Promise<readonly number[]> {
  const text = `SELECT pack_uid FROM sessions WHERE pack_key = ? AND pack_uid IS NOT NULL AND state NOT IN ${OVER} ORDER BY pack_uid`
  return (await sql.all(text, packKey)).map((row) => new RowReader('sessions', row).number('pack_uid'))
}

/** Only a closed one, as it was read; its executions and events must be gone before. */
export async function deleteClosedSession(transaction: Transaction, session: SessionRow): Promise<boolean> {
  const text = `DELETE FROM sessions WHERE id = ? AND tenant_id = ? AND version = ? AND state IN ${OVER}`
  return (await transaction.run(text, session.id, session.tenantId, session.version)) === 1
}

/** Of columns of `sessions`. */
export function condition({ tenantId, owner, groups }: Visible): { readonly text: string; readonly values: readonly string[] } {
  if (owner === null) return { text: 'tenant_id = ?', values: [tenantId] }
  if (groups.length === 0) return { text: 'tenant_id = ? AND owner = ?', values: [tenantId, owner] }
  const places = groups.map(() => '?').join(', ')
  return { text: `tenant_id = ? AND (owner = ? OR owner_group IN (${places}))`, values: [tenantId, owner, ...groups] }
}

function one(row: Row | undefined): SessionRow | null {
  return row === undefined ? null : parse(row)
}

function ref(row: Row): SessionRef {
  const read = new RowReader('sessions', row)
  return { id: read.text('id'), tenantId: read.text('tenant_id') }
}

const columns = new Map<string, string>()

function columnOf(name: string): string {
  const known = columns.get(name)
  if (known !== undefined) return known
  const column = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  columns.set(name, column)
  return column
}

function sqlValueOf(value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  return JSON.stringify(value)
}
