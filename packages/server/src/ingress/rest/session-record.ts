/**
 * A session's row → what its caller reads, field by field: what is stored beyond that does not leave the server.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { DEFAULT_WORKSPACE } from '@holdfast/protocol'
import type { SessionRecord } from '@holdfast/protocol'
import { expiryOf } from '../../sessions/lifecycle/deadlines.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { moment, momentOrNull } from './moment.ts'

export function sessionRecord(row: SessionRow): SessionRecord {
  const { heldAt, wish, activityAt, idleMs } = row
  const expiry = expiryOf(row)
  const isIdling = row.state === 'idle' && heldAt === null
  return {
    id: row.id,
    key: row.key,
    scope: row.scope,
    owner: row.owner,
    owner_group: row.ownerGroup,
    state: row.state,
    pending_reason: row.pendingReason,
    suspend_reason: row.suspendReason,
    close_reason: row.closeReason,
    close_detail: row.closeDetail,
    failure: row.failure,
    incarnation: row.incarnation,
    workspace: row.workspace,
    notice: row.notice,
    labels: { ...row.labels },
    metadata: { ...row.metadata },
    profile: wish.profile ?? null,
    profile_version: wish.profile_version ?? null,
    pipeline: wish.pipeline ?? null,
    skills: wish.skills === undefined ? null : [...wish.skills],
    timeout_ms: wish.timeout_ms ?? null,
    max_timeout_ms: wish.max_timeout_ms ?? null,
    image: wish.image ?? null,
    network: wish.network ?? null,
    rootfs: wish.rootfs ?? 'read-only',
    home: wish.home ?? 'persistent',
    user: wish.user ?? 'user',
    workspace_mount: {
      source: wish.workspace?.source ?? null,
      mode: wish.workspace?.mode ?? 'rw',
      target: wish.workspace?.target ?? DEFAULT_WORKSPACE,
    },
    mounts: [...(wish.mounts ?? [])],
    limits: {
      cpus: wish.limits?.cpus ?? null,
      memory_bytes: wish.limits?.memory_bytes ?? null,
      pids: wish.limits?.pids ?? null,
      tmp_bytes: wish.limits?.tmp_bytes ?? null,
      open_files: wish.limits?.open_files ?? null,
      workspace_bytes: wish.limits?.workspace_bytes ?? null,
    },
    pack: row.pack,
    sandbox_id: row.sandboxId,
    running: row.running,
    held: heldAt === null ? null : { at: moment(heldAt), by: row.heldBy, reason: row.heldReason },
    pending_transfer: row.pendingTransfer === null ? null : { ...row.pendingTransfer, at: moment(row.pendingTransfer.at) },
    on_idle: row.onIdle,
    workspace_on_close: row.workspaceOnClose,
    expires_at: momentOrNull(expiry.at),
    expires_reason: expiry.reason,
    deadlines: {
      idle_at: isIdling ? moment(activityAt + idleMs) : null,
      lease_at: momentOrNull(row.leaseAt),
      lifetime_at: momentOrNull(row.lifetimeAt),
    },
    created_at: moment(row.createdAt),
    created_by: row.createdBy,
    activity_at: moment(activityAt),
    suspended_at: momentOrNull(row.suspendedAt),
    closed_at: momentOrNull(row.closedAt),
    cleanup: row.cleanup,
    event_seq: row.eventSeq,
    version: row.version,
  }
}
