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
import { recordedOf } from './spec-record.ts'

export function sessionInfoOf(tenant: BoxTenant, row: SessionRow, backendName: string): BoxSessionInfo {
  const recorded = recordedOf(row) ?? {
    ...{ image: row.wish.image ?? '', network: row.wish.network ?? 'off', host_path: null, host_path_mode: 'rw', mount_path: '/workspace' },
    ...{ persistent: false, cpus: 1, memory_mb: 512, pids_limit: 128, read_only_rootfs: true, workspace_quota_mb: 0 },
  }
  return {
    session_id: logicalIdOf(tenant, row.key) ?? row.key,
    backend_name: backendName,
    backend_session_id: row.sandboxId ?? row.id,
    ...recorded,
    created_at: boxTime(row.createdAt),
    last_used_at: boxTime(row.activityAt),
  }
}
