/**
 * Profiles on the wire: the named sets of values that a server offers for sandboxes.
 */
import { z } from 'zod'
import { TimeoutMs } from './commands.ts'
import { Cpus, MemoryBytes, Pids, WorkspaceBytes } from './limits.ts'
import { pageOf } from './paging.ts'
import { HOME_KINDS, ROOT_KINDS, SANDBOX_USERS, SandboxWish, WORKSPACE_MODES } from './sandbox-wish.ts'
import { ProfileName } from './tenants.ts'

/** Fields of a request that a profile can keep from being changed. */
export const LOCKABLE_FIELDS = [
  'image',
  'network',
  'rootfs',
  'home',
  'user',
  'workspace.mode',
  'limits.cpus',
  'limits.memory_bytes',
  'limits.pids',
  'limits.workspace_bytes',
] as const
export type LockableField = (typeof LOCKABLE_FIELDS)[number]

/** Where a profile or a pipeline comes from. Only those of a tenant can be changed over the API. */
export const DEFINITION_SOURCES = ['built-in', 'configuration', 'tenant'] as const
export type DefinitionSource = (typeof DEFINITION_SOURCES)[number]

/** What is stored with a profile or a pipeline of a tenant; `null` for all others. */
export const DefinitionFacts = {
  source: z
    .enum(DEFINITION_SOURCES)
    .meta({ description: 'built-in and configuration: read-only. tenant: stored, and changed over the API.' }),
  read_only: z.boolean(),
  version: z.int().nullable().meta({ description: 'Grows with each change; the ETag. null for what is read-only.' }),
  created_at: z.iso.datetime().nullable(),
  updated_at: z.iso.datetime().nullable(),
} as const

const ProfileFields = {
  image: SandboxWish.shape.image,
  network: SandboxWish.shape.network,
  rootfs: SandboxWish.shape.rootfs,
  home: SandboxWish.shape.home,
  user: SandboxWish.shape.user,
  workspace_mode: z.enum(WORKSPACE_MODES, { error: 'must be "rw", "ro" or "none"' }).optional(),
  limits: z
    .strictObject({
      cpus: Cpus.nullable().optional(),
      memory_bytes: MemoryBytes.nullable().optional(),
      pids: Pids.nullable().optional(),
      workspace_bytes: WorkspaceBytes.optional(),
    })
    .optional()
    .meta({ description: 'null: no limit. Left out: the server’s.' }),
  timeout_ms: TimeoutMs.optional().meta({ description: 'Of a command that names none.' }),
  max_timeout_ms: TimeoutMs.optional().meta({ description: 'No command gets more.' }),
  locked: z
    .array(z.enum(LOCKABLE_FIELDS, { error: `must be one of ${LOCKABLE_FIELDS.join(', ')}` }), { error: 'must be a list of fields' })
    .max(64, { error: 'must be at most 64 fields' })
    .optional()
    .meta({ description: 'Fields of a request that take no other value. Only a platform administrator can loosen one again.' }),
} as const

const ORDERED_TIMES = {
  rule: ({ timeout_ms: usual, max_timeout_ms: most }: { timeout_ms?: number | undefined; max_timeout_ms?: number | undefined }) =>
    usual === undefined || most === undefined || usual <= most,
  refusal: { error: 'must be at least timeout_ms', path: ['max_timeout_ms'] },
}

/** What is left out is the server's setting at the time a session is made. */
export const ProfileSettings = z.strictObject(ProfileFields).refine(ORDERED_TIMES.rule, ORDERED_TIMES.refusal)
export type ProfileSettings = z.output<typeof ProfileSettings>
export type ProfileSettingsInput = z.input<typeof ProfileSettings>

export const CreateProfileBody = z.strictObject({ name: ProfileName, ...ProfileFields }).refine(ORDERED_TIMES.rule, ORDERED_TIMES.refusal)
export type CreateProfileBody = z.output<typeof CreateProfileBody>
export type CreateProfileBodyInput = z.input<typeof CreateProfileBody>

export const ProfileView = z.object({
  name: z.string(),
  ...DefinitionFacts,
  /** Not from the server's configuration. */
  built_in: z.boolean(),
  /** Whether sandboxes can be made with it here; `reason` says why not. */
  usable: z.boolean(),
  reason: z.string().nullable(),
  /** `null`: the server's, or none where sandboxes show the host's own `/usr`. */
  image: z.string().nullable(),
  network: z.enum(['off', 'on']),
  rootfs: z.enum(ROOT_KINDS),
  home: z.enum(HOME_KINDS),
  user: z.enum(SANDBOX_USERS),
  workspace_mode: z.enum(WORKSPACE_MODES),
  limits: z.object({
    cpus: z.number().nullable(),
    memory_bytes: z.int().nullable(),
    pids: z.int().nullable(),
    /** `null`: the server's. */
    workspace_bytes: z.int().nullable(),
  }),
  /** Of a command that names none. */
  timeout_ms: z.int(),
  /** No command gets more. */
  max_timeout_ms: z.int(),
  /** Fields of a request that take no other value. */
  locked: z.array(z.enum(LOCKABLE_FIELDS)),
})
export type ProfileView = z.output<typeof ProfileView>

export const ProfileList = z.object({
  /** Taken where a request names none; `null`: then the server's own settings hold. */
  default: z.string().nullable(),
  ...pageOf(ProfileView).shape,
})
export type ProfileList = z.output<typeof ProfileList>
