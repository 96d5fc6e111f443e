/**
 * Profiles on the wire: the named sets of values that a server offers for sandboxes.
 */
import { z } from 'zod'
import { ROOT_KINDS, WORKSPACE_MODES } from './sandbox-wish.ts'

/** Fields of a request that a profile can keep from being changed. */
export const LOCKABLE_FIELDS = [
  'image',
  'network',
  'rootfs',
  'workspace.mode',
  'limits.cpus',
  'limits.memory_bytes',
  'limits.pids',
  'limits.workspace_bytes',
] as const
export type LockableField = (typeof LOCKABLE_FIELDS)[number]

export const ProfileView = z.object({
  name: z.string(),
  /** Not from the server's configuration. */
  built_in: z.boolean(),
  /** Whether sandboxes can be made with it here; `reason` says why not. */
  usable: z.boolean(),
  reason: z.string().nullable(),
  /** `null`: the server's, or none where sandboxes show the host's own `/usr`. */
  image: z.string().nullable(),
  network: z.enum(['off', 'on']),
  rootfs: z.enum(ROOT_KINDS),
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
  items: z.array(ProfileView),
})
export type ProfileList = z.output<typeof ProfileList>
