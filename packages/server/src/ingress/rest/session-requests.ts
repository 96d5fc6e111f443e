/**
 * What a caller wishes of a session → what the sessions are asked for.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { CreateSessionBody, ErrorCode } from '@holdfast/protocol'
import type { ScopePolicy } from '../../policy/scopes/scope-policy.ts'
import type { SessionRequest } from '../../sessions/getting.ts'
import type { SessionTimes } from '../../sessions/lifecycle/creation.ts'

/** What can keep a session from being made. */
export const CREATE_ERRORS: readonly ErrorCode[] = [
  'forbidden',
  'session_incompatible',
  'quota_exceeded',
  'capacity_exhausted',
  'capability_unsupported',
  'image_missing',
  'backend_unavailable',
  'request_cancelled',
  'server_stopping',
]

export function sessionRequest(body: CreateSessionBody, scopes: ScopePolicy): SessionRequest {
  const { key, scope, variables, image, network, limits, owner, labels, metadata, pack } = body
  return {
    key: key === undefined ? scopes.resolve({ scope, variables }) : scopes.resolveKey(key),
    wish: { image, network, limits },
    ...{ owner, ownerGroup: body.owner_group, labels, metadata, pack },
    times: body.times === undefined ? undefined : timesOf(body.times),
    workspaceOnClose: body.workspace_on_close,
  }
}

/** Only what was named: the rest is the scope's or the server's. */
function timesOf(wish: NonNullable<CreateSessionBody['times']>): Partial<SessionTimes> {
  const { on_idle: onIdle, idle_seconds: idle, lease_seconds: lease, lifetime_seconds: lifetime, retention_seconds: retention } = wish
  return {
    ...(onIdle === undefined ? {} : { onIdle }),
    ...(idle === undefined ? {} : { idleMs: idle * 1000 }),
    ...(lease === undefined ? {} : { leaseMs: lease === null ? null : lease * 1000 }),
    ...(lifetime === undefined ? {} : { lifetimeMs: lifetime === null ? null : lifetime * 1000 }),
    ...(retention === undefined ? {} : { retentionMs: retention * 1000 }),
  }
}
