/**
 * The sections `profiles` and `pipelines` of `holdfast.yaml`: what an operator may write there.
 *
 * Strict: a key that nobody reads is a mistake, and every complaint names the profile and its field.
 */
import {
  DEFAULT_TIMEOUT_MS,
  HOME_KINDS,
  LOCKABLE_FIELDS,
  MAXIMUM_TIMEOUT_MS,
  MemoryBytes,
  Pids,
  ProfileName,
  ROOT_KINDS,
  SANDBOX_USERS,
  WORKSPACE_MODES,
  WorkspaceBytes,
} from '@holdfast/protocol'
import { z } from 'zod'
import type { Profile } from '../policy/profiles.ts'
import type { Limits } from '../sandboxes/spec.ts'
import { cpus, orNone, size, text, wholeNumber } from './written-values.ts'

const SIZE = 'must be a size such as 512m, 1g or 1048576'
const MAXIMUM_SECONDS = MAXIMUM_TIMEOUT_MS / 1000
const DEFAULT_TIMEOUT_SECONDS = DEFAULT_TIMEOUT_MS / 1000
const DEFAULT_MAXIMUM_SECONDS = 120
const MAXIMUM_SKILLS = 256

const commandSeconds = wholeNumber('must be a whole number of seconds').pipe(
  z
    .int()
    .min(1, { error: 'must be at least 1' })
    .max(MAXIMUM_SECONDS, { error: `must be at most ${MAXIMUM_SECONDS} (one hour)` }),
)

const ProfileSetting = z
  .strictObject(
    {
      image: text('must be an image name').max(255, { error: 'must be at most 255 characters' }).optional(),
      network: z.enum(['off', 'on'], { error: 'must be "off" or "on"' }).optional(),
      rootfs: z.enum(ROOT_KINDS, { error: 'must be read-only or writable' }).optional(),
      home: z.enum(HOME_KINDS, { error: 'must be persistent or ephemeral' }).optional(),
      user: z.enum(SANDBOX_USERS, { error: 'must be user or root' }).optional(),
      /** The mode of the workspace. */
      workspace: z.enum(WORKSPACE_MODES, { error: 'must be rw, ro or none' }).optional(),
      limits: z
        .strictObject(
          {
            cpus: orNone(cpus, 'must be a number of processors such as 0.5 or 2').optional(),
            memory: orNone(size.pipe(MemoryBytes), SIZE).optional(),
            pids: orNone(wholeNumber('must be a whole number of processes').pipe(Pids), 'must be a whole number of processes').optional(),
            workspace: size.pipe(WorkspaceBytes).optional(),
          },
          { error: 'must be a mapping of limits' },
        )
        .optional(),
      timeout_seconds: commandSeconds.optional(),
      max_timeout_seconds: commandSeconds.optional(),
      locked: z
        .array(z.enum(LOCKABLE_FIELDS, { error: `must be one of ${LOCKABLE_FIELDS.join(', ')}` }), { error: 'must be a list of fields' })
        .optional(),
    },
    { error: problemOf('must be a mapping of the profile’s values') },
  )
  .refine(({ timeout_seconds: usual, max_timeout_seconds: most }) => usual === undefined || most === undefined || usual <= most, {
    error: 'must be at least timeout_seconds',
    path: ['max_timeout_seconds'],
  })
export type ProfileSetting = z.output<typeof ProfileSetting>

const byName = {
  error: (issue: { readonly code?: string | undefined }) =>
    issue.code === 'invalid_key' ? NAMES : 'must be a mapping of names to their values',
}
const NAMES = 'a name must be 1 to 63 of a-z, 0-9, ".", "_", "-", and begin with a letter or digit'

export const ProfileSettings = z.record(ProfileName, ProfileSetting, byName)

export const PipelineSettings = z.record(
  ProfileName,
  z.strictObject(
    {
      scope: text('must be a scope').optional(),
      profile: ProfileName.optional(),
      skills: z
        .array(text('must be the name of a skill').max(64, { error: 'must be at most 64 characters' }), {
          error: 'must be a list of skills',
        })
        .max(MAXIMUM_SKILLS, { error: `must be at most ${MAXIMUM_SKILLS} skills` })
        .optional(),
    },
    { error: problemOf('must be a mapping of scope, profile and skills') },
  ),
  byName,
)

/** What a profile leaves out is what the settings say. */
export function configuredProfiles(
  settings: z.output<typeof ProfileSettings>,
  usual: { readonly network: 'off' | 'on'; readonly limits: Limits },
): readonly Profile[] {
  return Object.entries(settings).map(([name, { limits = {}, ...setting }]) => ({
    name,
    image: setting.image ?? null,
    network: setting.network ?? usual.network,
    rootfs: setting.rootfs ?? (setting.user === 'root' ? 'writable' : 'read-only'),
    home: setting.home ?? 'persistent',
    user: setting.user ?? 'user',
    workspaceMode: setting.workspace ?? 'rw',
    cpus: limits.cpus === undefined ? usual.limits.cpus : limits.cpus,
    memoryBytes: limits.memory === undefined ? usual.limits.memoryBytes : limits.memory,
    pids: limits.pids === undefined ? usual.limits.pids : limits.pids,
    workspaceBytes: limits.workspace ?? null,
    timeoutMs: (setting.timeout_seconds ?? Math.min(DEFAULT_TIMEOUT_SECONDS, maximumSeconds(setting))) * 1000,
    maxTimeoutMs: maximumSeconds(setting) * 1000,
    locked: setting.locked ?? [],
  }))
}

/** A longer time that was given is allowed, whatever is usual. */
function maximumSeconds({ timeout_seconds: usual = DEFAULT_TIMEOUT_SECONDS, max_timeout_seconds: most }: ProfileSetting): number {
  return most ?? Math.max(usual, DEFAULT_MAXIMUM_SECONDS)
}

/** Unknown keys are named by `fieldProblems`. */
function problemOf(message: string) {
  return (issue: { readonly code?: string | undefined }) => (issue.code === 'unrecognized_keys' ? undefined : message)
}
