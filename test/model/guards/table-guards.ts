/**
 * The conditions in the statements of the tables.
 */
import { guardsOf } from './guard.ts'
import type { Guard } from './guard.ts'

export const TABLE_GUARDS: readonly Guard[] = [
  ...guardsOf('store/tables/sessions.ts', 'model', [
    ['`tenant_id = ? AND owner = ? AND key_hash = ? AND state NOT IN ${OVER}`', '`tenant_id = ? AND owner = ? AND key_hash = ?`'],
    [`text: 'tenant_id = ? AND owner = ?', values: [tenantId, owner]`, `text: 'tenant_id = ?', values: [tenantId]`],
    [`WHERE server_id = ? AND deadline_at <= ? ORDER BY`, `WHERE server_id = ? AND deadline_at <= ? AND state <> 'suspended' ORDER BY`],
    [`WHERE server_id = ? AND state = 'closing'`, `WHERE server_id = ? AND state = 'never'`],
    ['SELECT * FROM sessions WHERE server_id = ? AND state NOT IN ${OVER}', 'SELECT * FROM sessions WHERE server_id = ?'],
    [`server_id = ? AND sandbox_id IS NOT NULL AND state IN ('pending', 'idle', 'active')`, `server_id = ? AND sandbox_id IS NOT NULL`],
    ['pack_uid IS NOT NULL AND state NOT IN ${OVER}', `pack_uid IS NOT NULL AND state = 'never'`],
  ]),
  // One transaction reads and changes; only another engine or another reader meets these.
  ...guardsOf('store/tables/sessions.ts', 'unit', [
    [`WHERE id = ? AND tenant_id = ? AND version = ?\``, `WHERE id = ? AND tenant_id = ? AND ? > 0\``],
    [`WHERE id = ? AND tenant_id = ? AND version = ?\``, `WHERE id = ? AND ? <> '' AND version = ?\``],
    [
      'WHERE id = ? AND tenant_id = ? AND version = ? AND state IN ${OVER}',
      'WHERE id = ? AND tenant_id = ? AND ? > 0 AND state IN ${OVER}',
    ],
    ['WHERE id = ? AND tenant_id = ? AND version = ? AND state IN ${OVER}', 'WHERE id = ? AND tenant_id = ? AND version = ?'],
    [
      'WHERE id = ? AND tenant_id = ? AND version = ? AND state IN ${OVER}',
      `WHERE id = ? AND ? <> '' AND version = ? AND state IN \${OVER}`,
    ],
    ['`id = ? AND tenant_id = ? ${transaction.forUpdate}`', "`id = ? AND ? <> ''`"],
    ['tenant_id = ? AND (owner = ? OR owner_group IN (${places}))', `? <> '' AND (owner = ? OR owner_group IN (\${places}))`],
    [`if (owner === null) return { text: 'tenant_id = ?'`, `if (owner === null) return { text: '? IS NOT NULL'`],
    [`WHERE server_id = ? AND deadline_at <= ? ORDER BY`, `WHERE ? <> '' AND deadline_at <= ? ORDER BY`],
    [`WHERE server_id = ? AND state = 'closing'`, `WHERE ? <> '' AND state = 'closing'`],
    [
      'SELECT * FROM sessions WHERE server_id = ? AND state NOT IN ${OVER}',
      `SELECT * FROM sessions WHERE ? <> '' AND state NOT IN \${OVER}`,
    ],
  ]),
  ...guardsOf('store/tables/sandboxes.ts', 'unit', [
    [`(state = 'creating' OR (state = 'ready' AND boot_id = ?))`, `boot_id IS NOT ?`],
    [`(state = 'creating' OR (state = 'ready' AND boot_id = ?))`, `(state IN ('creating', 'ready') OR boot_id = ?)`],
    [`boot_id = NULL, version = version + 1 WHERE id = ? AND state = 'ready'`, `boot_id = NULL, version = version + 1 WHERE id = ?`],
    [`WHERE id = ? AND state IN ('creating', 'ready')\``, `WHERE id = ?\``],
    [`DELETE FROM sandboxes WHERE id = ? AND state = 'ending'`, `DELETE FROM sandboxes WHERE id = ?`],
    [`WHERE pack_key = ? AND server_id = ? AND state IN ('creating', 'ready') ORDER BY`, `WHERE pack_key = ? AND server_id = ? ORDER BY`],
    [
      `WHERE pack_key = ? AND server_id = ? AND state IN ('creating', 'ready') ORDER BY`,
      `WHERE pack_key = ? AND ? <> '' AND state IN ('creating', 'ready') ORDER BY`,
    ],
    [
      `WHERE pack_key = ? AND server_id = ? AND state IN ('creating', 'ready') ORDER BY`,
      `WHERE ? <> '' AND server_id = ? AND state IN ('creating', 'ready') ORDER BY`,
    ],
  ]),
  ...guardsOf('store/tables/executions.ts', 'unit', [
    [`COALESCE(cancel_at, ?) WHERE id = ? AND status = 'running'`, `COALESCE(cancel_at, ?) WHERE id = ?`],
    [`WHERE id = ? AND sandbox_id = ? AND status IN ('running', 'lost')`, `WHERE id = ? AND sandbox_id = ?`],
    [`WHERE id = ? AND sandbox_id = ? AND status IN ('running', 'lost')`, `WHERE id = ? AND ? <> '' AND status IN ('running', 'lost')`],
    [`WHERE session_id = ? AND status <> 'running' ORDER BY`, `WHERE session_id = ? ORDER BY`],
    [`WHERE session_id = ? AND status <> 'running' AND id IN`, `WHERE session_id = ? AND id IN`],
    [`WHERE id = ? AND session_id = ? AND tenant_id = ?`, `WHERE id = ? AND session_id = ? AND ? <> ''`],
    [`WHERE id = ? AND session_id = ? AND tenant_id = ?`, `WHERE id = ? AND ? <> '' AND tenant_id = ?`],
    [`cancel_at IS NOT NULL AND ? = 1`, `cancel_at IS NOT NULL AND ? >= 0`],
  ]),
  ...guardsOf('store/tables/sandboxes.ts', 'model', [
    [`(state = 'creating' OR (state = 'ready' AND boot_id = ?))`, `(state = 'creating' OR (state = 'ready' AND boot_id <> ?))`],
    [`AND sessions.id <> ?)`, `AND sessions.id = ?)`],
    [`AND (state = 'ending' OR NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.sandbox_id = sandboxes.id))`, `AND state = 'ending'`],
    [`WHERE id = ? AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.sandbox_id = sandboxes.id)`, `WHERE id = ?`],
    [`< sandbox.maxSessions) return sandbox`, `< 99) return sandbox`],
  ]),
  ...guardsOf('store/tables/executions.ts', 'model', [
    [`CASE WHEN cancel_at IS NOT NULL AND ? = 1 THEN ? ELSE ? END`, `CASE WHEN cancel_at IS NULL AND ? = 1 THEN ? ELSE ? END`],
    [`WHERE id = ? AND status = 'running' RETURNING status`, `WHERE id = ? RETURNING status`],
    [`WHERE session_id = ? AND status = 'running'`, `WHERE session_id = ?`],
  ]),
]
