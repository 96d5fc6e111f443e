/**
 * Calls about the server itself: health, settings, status, and grants of servers that ask for them.
 */
import { BoxBackendInfo, BoxStatus, SharedWorkspaceProof } from '@holdfast/protocol/box'
import type { BoxContext } from '@holdfast/protocol/box'
import { z } from 'zod'
import type { Ask, AskOptions } from './ask.ts'

/** Servers add fields of their own, and older ones have fewer. */
const Backend = BoxBackendInfo.loose()
const Nothing = z.object({})

/** What is known of a server for certain is its backend; the rest is shown when it is there. */
export const RuntimeStatus = BoxStatus.partial()
  .extend({ backend: Backend.nullish(), limits: z.record(z.string(), z.unknown()).optional() })
  .loose()
export type RuntimeStatus = z.output<typeof RuntimeStatus>

export interface AdmissionGrant {
  readonly instance_uuid: string
  readonly workspace_uuid: string
  readonly execution_generation: number
  readonly entitlement_revision: number
  /** ISO 8601 with a zone. */
  readonly expires_at: string
  readonly max_sessions: number
  readonly max_managed_processes: number
}

type RevokedGrant = Pick<AdmissionGrant, 'instance_uuid' | 'workspace_uuid' | 'entitlement_revision'>

const Granted = z.object({ installed: z.literal(true), workspace_uuid: z.string(), entitlement_revision: z.int() }).loose()
const Revoked = z.object({ revoked: z.literal(true), workspace_uuid: z.string(), entitlement_revision: z.int() })

export function controlCalls(ask: Ask) {
  return {
    ping: (options?: AskOptions) => ask('__ping', Nothing, {}, undefined, options),
    init: (settings: Readonly<Record<string, unknown>>, options?: AskOptions) =>
      ask('box_init', z.object({ initialized: z.boolean() }), settings, undefined, options),
    health: (options?: AskOptions) => ask('box_health', z.looseObject({}), {}, undefined, options),
    backendInfo: (options?: AskOptions) => ask('box_get_backend_info', Backend, {}, undefined, options),
    status: (context: BoxContext, options?: AskOptions) => ask('box_status', RuntimeStatus, {}, context, options),
    /** Deletes every session of every workspace; the server runs on. */
    shutdown: (options?: AskOptions) => ask('box_shutdown', Nothing, {}, undefined, options),
    verifySharedWorkspace: (markerName: string, options?: AskOptions) =>
      ask('box_verify_shared_workspace', SharedWorkspaceProof, { marker_name: markerName }, undefined, options),
    upsertGrant: (grant: AdmissionGrant, options?: AskOptions) =>
      ask('box_upsert_sandbox_admission_grant', Granted, grant, undefined, options),
    revokeGrant({ instance_uuid, workspace_uuid, entitlement_revision }: RevokedGrant, options?: AskOptions) {
      const grant = { instance_uuid, workspace_uuid, entitlement_revision }
      return ask('box_revoke_sandbox_admission_grant', Revoked, grant, undefined, options)
    },
  }
}
