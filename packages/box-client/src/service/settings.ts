/**
 * The section `box` of a host's settings, read laxly as LangBot writes it; keys that are not named here go to the server unread.
 */
import { isAbsolute, join, resolve } from 'node:path'
import { BoxError } from '@holdfast/protocol/box'
import { z } from 'zod'
import { checked } from '../checked.ts'

const text = z.string({ error: 'must be text' }).trim()
const Roots = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',') : value),
  z.array(text, { error: 'must be a list of directories' }).transform((list) => list.filter((root) => root !== '')),
)

const Section = z.looseObject({
  local: z
    .looseObject({
      profile: text.default('default'),
      image: text.default(''),
      host_root: text.default(''),
      default_workspace: text.default(''),
      allowed_mount_roots: Roots.optional(),
      workspace_quota_mb: z.int({ error: 'must be a whole number' }).min(0).nullish(),
    })
    .prefault({}),
})

export interface BoxSettings {
  readonly profile: string
  /** Before the profile's, after the caller's; `null` without one. */
  readonly image: string | null
  /** Above the workspaces of the tenants; `null`: a session has a directory of its own on the server. */
  readonly defaultWorkspace: string | null
  /** Directories that may be mounted, and all below them; none of them refuses everything. */
  readonly allowedMountRoots: readonly string[]
  readonly workspaceQuotaMb: number | null
}

/** Relative directories are refused unless the server sees the files of this process. */
export function readBoxSettings(section: unknown, sharesFiles: boolean): BoxSettings {
  const { local } = checked(Section, section ?? {}, 'box')
  const place = (name: string, path: string) => {
    if (isAbsolute(path) || sharesFiles) return resolve(path)
    throw new BoxError('BoxValidationError', `box.local.${name} must be absolute for a remote server, not "${path}"`)
  }
  const hostRoot = local.host_root === '' ? null : place('host_root', local.host_root)
  const roots = local.allowed_mount_roots ?? (hostRoot === null ? [] : [hostRoot])
  return {
    profile: local.profile === '' ? 'default' : local.profile,
    image: local.image === '' ? null : local.image,
    defaultWorkspace: workspaceOf(hostRoot, local.default_workspace),
    allowedMountRoots: roots.map((root) => place('allowed_mount_roots', root)),
    workspaceQuotaMb: local.workspace_quota_mb ?? null,
  }
}

function workspaceOf(hostRoot: string | null, path: string): string | null {
  if (isAbsolute(path)) return resolve(path)
  return hostRoot === null ? null : join(hostRoot, path === '' ? 'default' : path)
}
