/**
 * The table of events: appended once, read in order, dropped by age.
 *
 * Stands beside the flow; sessions append and read through it. A tenant's events have one order that readers follow: `position`
 * in SQLite, where writers are alone. In PostgreSQL positions are given before a commit, so that a late commit would appear
 * behind a reader. There the order is (`xact`, `position`), and a reader goes only up to the oldest transaction still open.
 * Why: docs/adr/0011-events-and-audit.md
 */
import { RowReader } from '../row-reader.ts'
import type { Dialect, Row, Sql, SqlValue, Transaction } from '../store.ts'
import type { Visible } from './sessions.ts'

/** What is stored of one. */
export interface NewEventRow {
  readonly tenantId: string
  readonly sessionId: string
  readonly seq: number
  readonly type: string
  readonly at: number
  readonly body: string
}

/** As it is read back, with the id that follows from its session and place: unique without an index of its own. */
export interface EventRow extends NewEventRow {
  readonly id: string
}

/** One INSERT. The transaction holds the session's row, so that no other event of it can come in between. */
export async function insertEvent(transaction: Transaction, event: NewEventRow): Promise<void> {
  const { tenantId, sessionId, seq, type, at, body } = event
  if (transaction.dialect === 'sqlite') {
    await transaction.run(
      'INSERT INTO events (tenant_id, session_id, seq, type, at, body) VALUES (?, ?, ?, ?, ?, ?)',
      ...[tenantId, sessionId, seq, type, at, body],
    )
    return
  }
  // A transaction may have got its number before it waited for the session's row. Taking the number of the session's last event
  // where that is higher keeps the events of a session in order.
  await transaction.run(
    `INSERT INTO events (tenant_id, session_id, seq, type, at, body, xact) VALUES (?, ?, ?, ?, ?, ?,
      GREATEST(pg_current_xact_id(), (SELECT xact FROM events WHERE session_id = ? AND seq = ?)))`,
    ...[tenantId, sessionId, seq, type, at, body, sessionId, seq - 1],
  )
}

/** Where an event stands in the order of its tenant's. */
export interface EventPlace {
  /** The number of its transaction; `0` in SQLite. */
  readonly xact: string
  readonly position: number
}

export interface PlacedEvent extends EventRow {
  readonly place: EventPlace
}

/** Before every event. */
export const FIRST_PLACE: EventPlace = { xact: '0', position: 0 }

/** Who owns the session of an event now; `null` when the session's record is gone. */
export interface EventOwner {
  readonly owner: string | null
  readonly ownerGroup: string | null
}

export interface SessionEvents extends EventOwner {
  readonly events: readonly EventRow[]
  readonly lastSeq: number
}

/** The events of one session after a sequence number, and its last number; `null` when the session is not visible. */
export async function eventsOfSession(
  sql: Sql,
  visible: Visible,
  sessionId: string,
  after: number,
  limit: number,
): Promise<SessionEvents | null> {
  const seen = visibleSessions(visible)
  const session = await sql.get(
    `SELECT event_seq, owner, owner_group FROM sessions WHERE id = ? AND ${seen.text}`,
    sessionId,
    ...seen.values,
  )
  if (session === undefined) return null
  const text = 'SELECT * FROM events WHERE session_id = ? AND tenant_id = ? AND seq > ? ORDER BY seq LIMIT ?'
  const rows = await sql.all(text, sessionId, visible.tenantId, after, limit)
  const read = new RowReader('sessions', session)
  return {
    events: rows.map(eventOf),
    lastSeq: read.number('event_seq'),
    owner: read.text('owner'),
    ownerGroup: read.textOrNull('owner_group'),
  }
}

/** The visible events of a tenant after a place, in order; of these types only, if any are named. */
export async function eventsOfTenant(
  sql: Sql,
  visible: Visible,
  after: EventPlace,
  limit: number,
  types: readonly string[] = [],
): Promise<readonly PlacedEvent[]> {
  const order = ORDER[sql.dialect]
  const seen = visibleEvents(visible)
  const ofTypes = types.length === 0 ? '' : `AND type IN (${types.map(() => '?').join(', ')})`
  const rows = await sql.all(
    `SELECT *, ${order.xact} AS place_xact FROM events WHERE ${seen.text} AND ${order.isAfter} AND ${order.isSettled} ${ofTypes}
      ORDER BY ${order.ascending} LIMIT ?`,
    ...[...seen.values, ...order.valuesOf(after), ...types, limit],
  )
  return rows.map(placedEventOf)
}

/** All events of a tenant after a place, in order, each with the owner of its session. */
export async function ownedEventsOfTenant(
  sql: Sql,
  tenantId: string,
  after: EventPlace,
  limit: number,
): Promise<readonly (PlacedEvent & EventOwner)[]> {
  const order = ORDER[sql.dialect]
  const rows = await sql.all(
    `SELECT *, ${order.xact} AS place_xact, (SELECT owner FROM sessions WHERE id = session_id) AS owner,
      (SELECT owner_group FROM sessions WHERE id = session_id) AS owner_group
      FROM events WHERE tenant_id = ? AND ${order.isAfter} AND ${order.isSettled} ORDER BY ${order.ascending} LIMIT ?`,
    ...[tenantId, ...order.valuesOf(after), limit],
  )
  return rows.map((row) => {
    const read = new RowReader('events', row)
    return { ...placedEventOf(row), owner: read.textOrNull('owner'), ownerGroup: read.textOrNull('owner_group') }
  })
}

/** Whether the first place comes after the second. Transaction numbers are decimal without leading zeros. */
export function isLaterPlace(place: EventPlace, other: EventPlace): boolean {
  if (place.xact === other.xact) return place.position > other.position
  return place.xact.length === other.xact.length ? place.xact > other.xact : place.xact.length > other.xact.length
}

/** The last event of a tenant that a reader may have come to. */
export async function lastPlace(sql: Sql, tenantId: string): Promise<EventPlace> {
  const order = ORDER[sql.dialect]
  const row = await sql.get(
    `SELECT position, ${order.xact} AS place_xact FROM events WHERE tenant_id = ? AND ${order.isSettled}
      ORDER BY ${order.descending} LIMIT 1`,
    tenantId,
  )
  return row === undefined ? FIRST_PLACE : placeOf(row)
}

/** Where a visible event stands, or `null`. */
export async function placeOfEvent(sql: Sql, visible: Visible, id: string): Promise<EventPlace | null> {
  const named = /^evt_([0-9a-z]+)_([1-9][0-9]{0,14})$/.exec(id)
  if (named === null) return null
  const seen = visibleEvents(visible)
  const text = `SELECT position, ${ORDER[sql.dialect].xact} AS place_xact FROM events WHERE ${seen.text} AND session_id = ? AND seq = ?`
  const row = await sql.get(text, ...seen.values, `ses_${named[1]}`, Number(named[2]))
  return row === undefined ? null : placeOf(row)
}

/**
 * A number that grows along the order and never comes again, for a cursor that outlives its event. In PostgreSQL the events of
 * one transaction share it.
 */
export function turnOf(dialect: Dialect, { xact, position }: EventPlace): number {
  return dialect === 'sqlite' ? position : Number(xact)
}

/** Behind every event of that turn. */
export function placeAfterTurn(dialect: Dialect, turn: number): EventPlace {
  return dialect === 'sqlite' ? { xact: '0', position: turn } : { xact: String(turn), position: Number.MAX_SAFE_INTEGER }
}

/** Drops those older than `at` among the first `limit`; gives how many. Positions grow with time, so no index of the age is needed. */
export async function deleteEventsBefore(transaction: Transaction, at: number, limit: number): Promise<number> {
  const first = 'SELECT position FROM events ORDER BY position LIMIT ?'
  return await transaction.run(`DELETE FROM events WHERE position IN (${first}) AND at < ?`, limit, at)
}

/** Drops the first `limit` of a tenant; gives when each of them happened. */
export async function deleteOldestEvents(transaction: Transaction, tenantId: string, limit: number): Promise<readonly number[]> {
  const order = ORDER[transaction.dialect]
  const first = `SELECT position FROM events WHERE tenant_id = ? ORDER BY ${order.ascending} LIMIT ?`
  const rows = await transaction.all(`DELETE FROM events WHERE position IN (${first}) RETURNING at`, tenantId, limit)
  return rows.map((row) => new RowReader('events', row).number('at'))
}

interface Order {
  readonly xact: string
  readonly isAfter: string
  /** No event that comes before it can still appear. */
  readonly isSettled: string
  readonly ascending: string
  readonly descending: string
  valuesOf(place: EventPlace): readonly SqlValue[]
}

const ORDER: Readonly<Record<Dialect, Order>> = {
  sqlite: {
    xact: `'0'`,
    isAfter: 'position > ?',
    isSettled: '1 = 1',
    ascending: 'position',
    descending: 'position DESC',
    valuesOf: ({ position }) => [position],
  },
  postgres: {
    xact: 'CAST(xact AS TEXT)',
    isAfter: '(xact, position) > (CAST(? AS xid8), ?)',
    isSettled: 'xact < pg_snapshot_xmin(pg_current_snapshot())',
    ascending: 'xact, position',
    descending: 'xact DESC, position DESC',
    valuesOf: ({ xact, position }) => [xact, position],
  },
}

interface Condition {
  readonly text: string
  readonly values: readonly string[]
}

function visibleSessions({ tenantId, owner, groups }: Visible): Condition {
  if (owner === null) return { text: 'tenant_id = ?', values: [tenantId] }
  const ofGroups = groups.length === 0 ? '' : ` OR owner_group IN (${groups.map(() => '?').join(', ')})`
  return { text: `tenant_id = ? AND (owner = ?${ofGroups})`, values: [tenantId, owner, ...groups] }
}

/** Who sees the whole tenant also sees events of sessions whose record is gone. */
function visibleEvents(visible: Visible): Condition {
  if (visible.owner === null) return { text: 'tenant_id = ?', values: [visible.tenantId] }
  const seen = visibleSessions(visible)
  return {
    text: `tenant_id = ? AND session_id IN (SELECT id FROM sessions WHERE ${seen.text})`,
    values: [visible.tenantId, ...seen.values],
  }
}

function eventOf(row: Row): EventRow {
  const read = new RowReader('events', row)
  const sessionId = read.text('session_id')
  const seq = read.number('seq')
  return {
    id: `evt_${sessionId.replace(/^ses_/, '')}_${seq}`,
    tenantId: read.text('tenant_id'),
    sessionId,
    seq,
    type: read.text('type'),
    at: read.number('at'),
    body: read.text('body'),
  }
}

function placedEventOf(row: Row): PlacedEvent {
  return { ...eventOf(row), place: placeOf(row) }
}

function placeOf(row: Row): EventPlace {
  const read = new RowReader('events', row)
  return { xact: read.text('place_xact'), position: read.number('position') }
}
