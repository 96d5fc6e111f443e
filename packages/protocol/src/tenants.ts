/**
 * Tenants on the wire: what a tenant allows, and how much of everything it may have.
 *
 * Whether webhooks may reach private addresses is not here: that is the server's own configuration, never a tenant's.
 */
import { z } from 'zod'

export const Seconds = z
  .int({ error: 'must be a whole number of seconds' })
  .min(1, { error: 'must be at least 1' })
  .max(315_360_000, { error: 'must be at most 315360000 (ten years)' })

export const ProfileName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, { error: 'must be 1 to 63 of a-z, 0-9, ".", "_", "-", and begin with a letter or digit' })

/** The longest each deadline may be set to; left out, only the server's own bounds hold. */
export const DeadlineCeilings = z.strictObject({
  idle_seconds: Seconds.optional(),
  lease_seconds: Seconds.optional(),
  lifetime_seconds: Seconds.optional(),
  retention_seconds: Seconds.optional(),
})
export type DeadlineCeilings = z.output<typeof DeadlineCeilings>

/** Everything left out is what is safest. */
export const TenantPolicy = z.strictObject({
  /** Whether administrators may run commands in, and read files and output of, sessions that others own. */
  admin_exec: z.boolean({ error: 'must be true or false' }).default(false),
  /** Which packing profiles a request may name; without a name, no two sessions share a sandbox. */
  packing: z.strictObject({ profiles: z.array(ProfileName).max(64, { error: 'must name at most 64 profiles' }) }).default({ profiles: [] }),
  ceilings: DeadlineCeilings.default({}),
})
export type TenantPolicy = z.output<typeof TenantPolicy>
export type TenantPolicyInput = z.input<typeof TenantPolicy>

const Limit = z
  .int({ error: 'must be a whole number, or null for no limit' })
  .min(0, { error: 'must be at least 0' })
  .max(1_000_000, { error: 'must be at most 1000000' })
  .nullable()
  .optional()

const KeptLimit = z
  .int({ error: 'must be a whole number, or null for no limit' })
  .min(0, { error: 'must be at least 0' })
  .nullable()
  .optional()

/** `null` lifts a limit; a field left out takes the server's default. */
export const TenantQuotas = z.strictObject({
  /** Sessions that are not over, suspended ones included. */
  open_sessions: Limit,
  open_sessions_per_owner: Limit,
  /** Sessions that have a sandbox or are being given one. */
  compute_sessions: Limit,
  compute_sessions_per_owner: Limit,
  /** Profiles and pipelines that are stored for the tenant. */
  profiles: Limit,
  pipelines: Limit,
  /** Execution records with their output; above it the oldest are removed. */
  kept_output_bytes: KeptLimit,
  /** A number of events; above it the oldest are removed. */
  kept_events: KeptLimit,
  /** Answers to requests with an Idempotency-Key; above it requests with a new key are refused. */
  kept_answer_bytes: KeptLimit,
})
export type TenantQuotas = z.output<typeof TenantQuotas>
export type QuotaName = keyof TenantQuotas

export const TenantName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, { error: 'must be 1 to 63 of a-z, 0-9, "-", and begin with a letter or digit' })

export const CreateTenantBody = z.strictObject({
  name: TenantName,
  policy: TenantPolicy.prefault({}),
  quotas: TenantQuotas.default({}),
})
export type CreateTenantBody = z.output<typeof CreateTenantBody>
export type CreateTenantBodyInput = z.input<typeof CreateTenantBody>

/** `terminating`: nothing new begins, and its sessions are being ended. `terminated`: the last of them has ended. */
export const TENANT_STATES = ['active', 'terminating', 'terminated'] as const
export type TenantState = (typeof TENANT_STATES)[number]

export const TenantView = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(TENANT_STATES),
  policy: TenantPolicy,
  quotas: TenantQuotas,
  version: z.int(),
  created_at: z.iso.datetime(),
})
export type TenantView = z.output<typeof TenantView>
