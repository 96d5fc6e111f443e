/**
 * What a caller wishes of a session → what the sessions are asked for.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { CreateSessionBody, ErrorCode, SandboxWish, ScopeRequest } from '@holdfast/protocol'
import type { ResolvedKey, ScopePolicy } from '../../policy/scopes/scope-policy.ts'
import type { TenantPipelines } from '../../policy/tenant-pipelines.ts'
import type { Caller } from '../../sessions/caller.ts'
import type { SessionRequest } from '../../sessions/getting.ts'
import type { SessionTimes } from '../../sessions/lifecycle/creation.ts'

/** What can keep a session from being made. */
export const CREATE_ERRORS: readonly ErrorCode[] = [
  'forbidden',
  'session_incompatible',
  'profile_unknown',
  'profile_locked',
  'pipeline_unknown',
  'mount_refused',
  'quota_exceeded',
  'capacity_exhausted',
  'capability_unsupported',
  'image_missing',
  'backend_unavailable',
  'request_cancelled',
  'server_stopping',
]

/** What a request's conversation is found by. */
export interface KeyNeeds {
  readonly scopes: ScopePolicy
  readonly pipelines: Pick<TenantPipelines, 'resolve'>
}

export interface KeyRequest extends ScopeRequest {
  readonly key?: string | undefined
  readonly pipeline?: string | undefined
}

/** A key or a scope of the request's own comes before the pipeline's. Throws `pipeline_unknown` and `invalid_request`. */
export async function keyOf(request: KeyRequest, { scopes, pipelines }: KeyNeeds, caller: Caller): Promise<ResolvedKey> {
  const { key, scope, variables, missing, pipeline } = request
  const usual = pipeline === undefined ? undefined : (await pipelines.resolve(caller.visibility.tenantId, pipeline)).scope
  return key === undefined ? scopes.resolve({ scope: scope ?? usual, variables, missing }) : scopes.resolveKey(key)
}

/** The part of a request that shapes the sandbox. */
export function wishOf({ profile, pipeline, image, network, rootfs, home, user, workspace, mounts, limits }: SandboxWish): SandboxWish {
  return { profile, pipeline, image, network, rootfs, home, user, workspace, mounts, limits }
}

export async function sessionRequest(body: CreateSessionBody, needs: KeyNeeds, caller: Caller): Promise<SessionRequest> {
  const { owner, labels, metadata, pack } = body
  return {
    key: await keyOf(body, needs, caller),
    wish: wishOf(body),
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
