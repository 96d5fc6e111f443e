/**
 * The first tables: tenants and keys, servers, sessions with their sandboxes and executions, events, audit, webhooks.
 *
 * Times are epoch milliseconds, objects are JSON text, truth values are 0 and 1. What may exist once only is a unique
 * index, so that no code path can make a second one.
 */
import type { Dialect } from '../store.ts'

/** Session states that are over for good. */
const OVER = `('released', 'cancelled', 'expired', 'failed')`

export function sessionsMigration(dialect: Dialect): readonly string[] {
  const bytes = dialect === 'sqlite' ? 'BLOB' : 'BYTEA'
  const position = dialect === 'sqlite' ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY'
  // A command writes its row twice: one page instead of two, each time.
  const clustered = dialect === 'sqlite' ? ' WITHOUT ROWID' : ''
  // Positions are given before a transaction commits; a reader of PostgreSQL goes only up to the oldest one still open.
  const transaction = dialect === 'sqlite' ? '' : ', xact xid8 NOT NULL DEFAULT pg_current_xact_id()'
  return [
    `CREATE TABLE tenants (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      state TEXT NOT NULL,
      policy TEXT NOT NULL,
      quotas TEXT NOT NULL,
      version BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      audit_seq BIGINT NOT NULL,
      audit_hash TEXT NOT NULL
    )`,

    `CREATE TABLE api_keys (
      id TEXT PRIMARY KEY,
      tenant_id TEXT NOT NULL REFERENCES tenants (id),
      hash TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      role TEXT NOT NULL,
      member_of TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL,
      expires_at BIGINT,
      revoked_at BIGINT
    )`,
    `CREATE INDEX api_keys_of_tenant ON api_keys (tenant_id, created_at, id)`,

    `CREATE TABLE servers (
      id TEXT PRIMARY KEY,
      url TEXT,
      started_at BIGINT NOT NULL,
      alive_until BIGINT NOT NULL
    )`,

    `CREATE TABLE sandboxes (
      id TEXT PRIMARY KEY,
      tenant_id TEXT NOT NULL REFERENCES tenants (id),
      server_id TEXT NOT NULL REFERENCES servers (id),
      session_id TEXT,
      backend TEXT NOT NULL,
      state TEXT NOT NULL,
      boot_id TEXT,
      pack_key TEXT,
      max_sessions BIGINT NOT NULL,
      version BIGINT NOT NULL,
      created_at BIGINT NOT NULL
    )`,
    `CREATE INDEX sandboxes_of_server ON sandboxes (server_id)`,
    `CREATE INDEX sandboxes_of_session ON sandboxes (session_id) WHERE session_id IS NOT NULL`,
    `CREATE INDEX sandboxes_to_pack ON sandboxes (pack_key) WHERE pack_key IS NOT NULL`,

    `CREATE TABLE sessions (
      id TEXT PRIMARY KEY,
      tenant_id TEXT NOT NULL REFERENCES tenants (id),
      owner TEXT NOT NULL,
      owner_group TEXT,
      key TEXT NOT NULL,
      key_hash TEXT NOT NULL,
      scope TEXT,
      labels TEXT NOT NULL,
      metadata TEXT NOT NULL,
      created_by TEXT NOT NULL,

      state TEXT NOT NULL,
      version BIGINT NOT NULL,
      incarnation BIGINT NOT NULL,
      pending_reason TEXT,
      suspend_reason TEXT,
      close_reason TEXT,
      close_detail TEXT,
      failure TEXT,
      cleanup TEXT,
      held_at BIGINT,
      held_by TEXT,
      held_reason TEXT,

      wish TEXT NOT NULL,
      pack TEXT,
      pack_key TEXT,
      pack_uid BIGINT,
      server_id TEXT REFERENCES servers (id),
      sandbox_id TEXT REFERENCES sandboxes (id),
      workspace TEXT NOT NULL,
      workspace_on_close TEXT NOT NULL,
      notice TEXT,
      running BIGINT NOT NULL,
      execution_count BIGINT NOT NULL,

      on_idle TEXT NOT NULL,
      idle_ms BIGINT NOT NULL,
      lease_ms BIGINT,
      lease_at BIGINT,
      lifetime_at BIGINT,
      retention_ms BIGINT NOT NULL,
      record_ms BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      activity_at BIGINT NOT NULL,
      suspended_at BIGINT,
      closing_at BIGINT,
      drain_until BIGINT,
      closed_at BIGINT,
      deadline_at BIGINT,
      deadline TEXT,

      event_seq BIGINT NOT NULL,
      audit_seq BIGINT NOT NULL,
      audit_hash TEXT NOT NULL
    )`,
    `CREATE UNIQUE INDEX sessions_one_per_key ON sessions (tenant_id, owner, key_hash) WHERE state NOT IN ${OVER}`,
    `CREATE UNIQUE INDEX sessions_own_uid ON sessions (pack_key, pack_uid) WHERE pack_uid IS NOT NULL AND state NOT IN ${OVER}`,
    `CREATE INDEX sessions_due ON sessions (server_id, deadline_at) WHERE deadline_at IS NOT NULL`,
    `CREATE INDEX sessions_closing ON sessions (server_id) WHERE state = 'closing'`,
    `CREATE INDEX sessions_of_tenant ON sessions (tenant_id, created_at, id)`,
    `CREATE INDEX sessions_of_owner ON sessions (tenant_id, owner, created_at, id)`,
    `CREATE INDEX sessions_open ON sessions (tenant_id, owner, state) WHERE state NOT IN ${OVER}`,
    `CREATE INDEX sessions_in_sandbox ON sessions (sandbox_id) WHERE sandbox_id IS NOT NULL`,

    `CREATE TABLE executions (
      id TEXT PRIMARY KEY,
      session_id TEXT NOT NULL REFERENCES sessions (id),
      tenant_id TEXT NOT NULL,
      sandbox_id TEXT NOT NULL,
      incarnation BIGINT NOT NULL,
      kind TEXT NOT NULL,
      name TEXT,
      actor TEXT NOT NULL,
      timeout_ms BIGINT,
      status TEXT NOT NULL,
      exit_code BIGINT,
      signal TEXT,
      cancel_at BIGINT,
      started_at BIGINT NOT NULL,
      ended_at BIGINT,
      duration_ms BIGINT,
      output_seq BIGINT NOT NULL,
      output ${bytes},
      input_pending BIGINT NOT NULL DEFAULT 0
    )${clustered}`,
    `CREATE INDEX executions_of_session ON executions (session_id, started_at, id)`,
    `CREATE INDEX executions_running ON executions (session_id) WHERE status = 'running'`,
    `CREATE UNIQUE INDEX executions_own_name ON executions (session_id, name) WHERE name IS NOT NULL AND status = 'running'`,

    `CREATE TABLE events (
      position ${position},
      tenant_id TEXT NOT NULL,
      session_id TEXT NOT NULL,
      seq BIGINT NOT NULL,
      type TEXT NOT NULL,
      at BIGINT NOT NULL,
      body TEXT NOT NULL${transaction}
    )`,
    `CREATE UNIQUE INDEX events_of_session ON events (session_id, seq)`,
    `CREATE INDEX events_of_tenant ON events (tenant_id, ${dialect === 'sqlite' ? '' : 'xact, '}position)`,

    `CREATE TABLE audit (
      chain TEXT NOT NULL,
      seq BIGINT NOT NULL,
      id TEXT,
      tenant_id TEXT NOT NULL,
      at BIGINT NOT NULL,
      body TEXT NOT NULL,
      previous TEXT NOT NULL,
      hash TEXT NOT NULL,
      PRIMARY KEY (chain, seq)
    )`,
    `CREATE UNIQUE INDEX audit_anchors ON audit (id) WHERE id IS NOT NULL`,
    `CREATE INDEX audit_of_tenant ON audit (tenant_id, at)`,

    `CREATE TABLE webhooks (
      id TEXT PRIMARY KEY,
      tenant_id TEXT NOT NULL REFERENCES tenants (id),
      url TEXT NOT NULL,
      secret ${bytes} NOT NULL,
      types TEXT NOT NULL,
      state TEXT NOT NULL,
      position BIGINT NOT NULL,
      attempts BIGINT NOT NULL,
      next_at BIGINT NOT NULL,
      last_problem TEXT,
      version BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      created_by TEXT NOT NULL
    )`,
    `CREATE INDEX webhooks_due ON webhooks (next_at) WHERE state = 'active'`,
  ]
}
