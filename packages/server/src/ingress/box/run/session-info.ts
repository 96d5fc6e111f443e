/**
 * A session as its client knows it: what was asked for comes back as it was.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { boxTime } from '@holdfast/protocol/box'
import type { BoxSessionInfo } from '@holdfast/protocol/box'
import type { SessionRow } from '../../../store/tables/sessions.ts'
import { logicalIdOf } from '../tenant.ts'
import type { BoxTenant } from '../tenant.ts'
import { recordedOf, WARNING_METADATA } from './spec-record.ts'

export interface SessionFacts {
  readonly backendName: string
  /** Whether a command is under way. */
  isRunning(sessionId: string): boolean
}

export function sessionInfoOf(tenant: BoxTenant, row: SessionRow, { backendName, isRunning }: SessionFacts): BoxSessionInfo {
  const recorded = recordedOf(row) ?? {
    ...{ image: row.wish.image ?? '', network: row.wish.network ?? 'off', host_path: null, host_path_mode: 'rw', mount_path: '/workspace' },
    ...{ persistent: false, cpus: 1, memory_mb: 512, pids_limit: 128, read_only_rootfs: true, workspace_quota_mb: 0 },
  }
  const warning = row.metadata[WARNING_METADATA]
  return {
    session_id: logicalIdOf(tenant, row.key) ?? row.key,
    backend_name: backendName,
    backend_session_id: row.sandboxId ?? row.id,
    ...recorded,
    status: row.state === 'closing' ? 'closing' : isRunning(row.id) ? 'running' : 'idle',
    ...(warning === undefined ? {} : { warnings: [warning] }),
    created_at: boxTime(row.createdAt),
    last_used_at: boxTime(row.activityAt),
  }
}
