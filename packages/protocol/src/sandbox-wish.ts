/**
 * What shapes a sandbox when it is created, on the wire: everything is optional, and what is left out is the profile's or the server's.
 *
 * An open session with other values than those that a caller names answers `session_incompatible`.
 */
import { z } from 'zod'
import { LimitsWish } from './limits.ts'
import { ProfileName } from './tenants.ts'

export const MAXIMUM_MOUNTS = 64
export const DEFAULT_WORKSPACE = '/workspace'
export const HOME = '/home/user'
export const MOUNT_MODES = ['rw', 'ro'] as const
/** `none`: the host directory is not shown, and the workspace is the session's own. */
export const WORKSPACE_MODES = ['rw', 'ro', 'none'] as const
export type WorkspaceMode = (typeof WORKSPACE_MODES)[number]
export const ROOT_KINDS = ['read-only', 'writable'] as const
export type RootKind = (typeof ROOT_KINDS)[number]
/** `persistent`: on disk, kept with the session. `ephemeral`: in memory, empty in every new sandbox. */
export const HOME_KINDS = ['persistent', 'ephemeral'] as const
export type HomeKind = (typeof HOME_KINDS)[number]

/** Who commands are: an unprivileged user, or root of the sandbox's own user namespace, which is nobody on the host. */
export const SANDBOX_USERS = ['user', 'root'] as const
export type SandboxUserKind = (typeof SANDBOX_USERS)[number]

const hostPath = z
  .string({ error: 'must be an absolute path of the host' })
  .max(4096, { error: 'must be at most 4096 characters' })
  .startsWith('/', { error: 'must be an absolute path of the host' })
  .refine((path) => path.isWellFormed() && !path.includes('\0'), { error: 'must not contain NUL or broken Unicode' })
const insidePath = z
  .string({ error: 'must be an absolute path inside the sandbox' })
  .max(1024, { error: 'must be at most 1024 characters' })
  .startsWith('/', { error: 'must be an absolute path inside the sandbox' })
  .refine((path) => path.isWellFormed() && !/\p{Cc}/u.test(path), { error: 'must not contain control characters or broken Unicode' })

/** Without a `source` the workspace is the session's own directory, always at `/workspace`. */
export const WorkspaceWish = z
  .strictObject({
    /** A directory of the host, below one of the server's allowed roots. */
    source: hostPath.optional(),
    /** How the source is shown, or the session's own directory where there is none; `rw`. */
    mode: z.enum(WORKSPACE_MODES, { error: 'must be "rw", "ro" or "none"' }).optional(),
    /** Where the source is shown; elsewhere than at `/workspace`, the session's own directory stays there beside it. */
    target: insidePath.optional(),
  })
  .refine(({ source, target }) => target === undefined || target === DEFAULT_WORKSPACE || source !== undefined, {
    error: `goes with a source; the session's own directory is always at ${DEFAULT_WORKSPACE}`,
    path: ['target'],
  })
export type WorkspaceWish = Readonly<z.output<typeof WorkspaceWish>>

export const MountWish = z.strictObject({
  source: hostPath,
  target: insidePath,
  mode: z.enum(MOUNT_MODES, { error: 'must be "rw" or "ro"' }),
})
export type MountWish = Readonly<z.output<typeof MountWish>>

export const SandboxWish = z.strictObject({
  /** A named set of values for what is left out here, and of bounds for what is not. */
  profile: ProfileName.optional(),
  /** The configured pipeline that asks: its scope, its profile and its skills, where the request names none. */
  pipeline: ProfileName.optional(),
  image: z.string().min(1, { error: 'must not be empty' }).max(255, { error: 'must be at most 255 characters' }).optional(),
  network: z.enum(['off', 'on'], { error: 'must be "off" or "on"' }).optional(),
  rootfs: z.enum(ROOT_KINDS, { error: 'must be "read-only" or "writable"' }).optional(),
  /** What `/home/user` is; `persistent`. */
  home: z.enum(HOME_KINDS, { error: 'must be "persistent" or "ephemeral"' }).optional(),
  /** `root` needs a writable root, and has one unless `rootfs` says otherwise. */
  user: z.enum(SANDBOX_USERS, { error: 'must be "user" or "root"' }).optional(),
  workspace: WorkspaceWish.optional(),
  /** Further directories of the host. */
  mounts: z
    .array(MountWish)
    .max(MAXIMUM_MOUNTS, { error: `must be at most ${MAXIMUM_MOUNTS}` })
    .optional(),
  limits: LimitsWish.optional(),
})
export type SandboxWish = Readonly<Omit<z.output<typeof SandboxWish>, 'mounts'>> & { readonly mounts?: readonly MountWish[] | undefined }
