/**
 * Profiles: named defaults of a session, fields that a caller cannot change, and the longest time a command may take.
 */
import { BoxError, DEFAULT_BOX_IMAGE } from '@holdfast/protocol/box'
import type { BoxSpec } from '@holdfast/protocol/box'

const FIELDS = [
  'image',
  'network',
  'timeout_sec',
  'host_path_mode',
  'cpus',
  'memory_mb',
  'pids_limit',
  'read_only_rootfs',
  'workspace_quota_mb',
] as const
export type ProfileField = (typeof FIELDS)[number]

export interface BoxProfile extends Readonly<Pick<BoxSpec, ProfileField>> {
  readonly name: string
  readonly max_timeout_sec: number
  /** The profile's value is used whatever the caller says. */
  readonly locked: readonly ProfileField[]
}

const SHARED = {
  image: DEFAULT_BOX_IMAGE,
  timeout_sec: 30,
  host_path_mode: 'rw',
  cpus: 1,
  memory_mb: 512,
  pids_limit: 128,
  read_only_rootfs: true,
  workspace_quota_mb: 0,
  max_timeout_sec: 120,
  locked: [],
} as const

export const BUILT_IN_PROFILES: readonly BoxProfile[] = [
  { ...SHARED, name: 'default', network: 'off' },
  {
    ...{ ...SHARED, name: 'offline_readonly', network: 'off', host_path_mode: 'ro', cpus: 0.5, memory_mb: 256, pids_limit: 64 },
    ...{ max_timeout_sec: 60, locked: ['network', 'host_path_mode', 'read_only_rootfs'] },
  },
  { ...SHARED, name: 'network_basic', network: 'on' },
  {
    ...{ ...SHARED, name: 'network_extended', network: 'on', cpus: 2, memory_mb: 1024, pids_limit: 256 },
    ...{ read_only_rootfs: false, max_timeout_sec: 300 },
  },
]

export function findProfile(name: string, profiles: readonly BoxProfile[] = BUILT_IN_PROFILES): BoxProfile {
  const found = profiles.find((profile) => profile.name === name)
  if (found !== undefined) return found
  const names = profiles.map((profile) => profile.name).join(', ')
  throw new BoxError('BoxValidationError', `box.local.profile is "${name}", and the profiles are: ${names}`)
}

/** Fills what is absent, puts locked fields back, and shortens a time-out that is too long. */
export function applyProfile(profile: BoxProfile, wish: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const fields = FIELDS.map((field) => {
    const isOwn = profile.locked.includes(field) || wish[field] === undefined
    return [field, isOwn ? profile[field] : wish[field]] as const
  })
  const filled = { ...wish, ...Object.fromEntries<unknown>(fields) }
  return Number(filled['timeout_sec']) > profile.max_timeout_sec ? { ...filled, timeout_sec: profile.max_timeout_sec } : filled
}
