/**
 * What a caller wishes, made into what the server is asked for: workspace, image, profile, and the mounts that are allowed.
 */
import { isAbsolute, relative } from 'node:path'
import { BoxError, BoxSpec, workspaceNamespace } from '@holdfast/protocol/box'
import type { BoxContext, BoxMountSpec } from '@holdfast/protocol/box'
import { checked } from '../checked.ts'
import { applyProfile } from './profiles.ts'
import type { BoxProfile } from './profiles.ts'
import type { BoxSettings } from './settings.ts'
import type { BoxSpecInput } from '../calls/session-calls.ts'

export interface SpecRules {
  readonly settings: BoxSettings
  readonly profile: BoxProfile
}

/** `trusted` are mounts that this package makes itself; those of the wish must lie in an allowed directory. */
export function buildSpec(rules: SpecRules, context: BoxContext, wish: BoxSpecInput, trusted: readonly BoxMountSpec[] = []): BoxSpec {
  const { settings, profile } = rules
  const own = tenantWorkspace(settings, context)
  const filled = applyProfile(profile, {
    ...(own === null ? {} : { host_path: own }),
    ...(settings.workspaceQuotaMb === null ? {} : { workspace_quota_mb: settings.workspaceQuotaMb }),
    ...(settings.image === null ? {} : { image: settings.image }),
    ...Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== undefined)),
  })
  const spec = checked(BoxSpec, filled)
  const mounts = [...(spec.host_path === null ? [] : [spec.host_path]), ...spec.extra_mounts.map(({ host_path: path }) => path)]
  for (const path of mounts) checkMount(settings.allowedMountRoots, path)
  return { ...spec, extra_mounts: [...spec.extra_mounts, ...trusted] }
}

/** The directory on the server that all sessions of a workspace share; the server makes it. */
export function tenantWorkspace({ defaultWorkspace }: BoxSettings, { instance_uuid, workspace_uuid }: BoxContext): string | null {
  return defaultWorkspace === null ? null : `${defaultWorkspace}/tenants/${workspaceNamespace(instance_uuid, workspace_uuid)}`
}

/** By the words of the paths; where links lead is checked by the server, which sees them. */
function checkMount(roots: readonly string[], path: string): void {
  if (roots.some((root) => isBelow(path, root))) return
  const allowed = roots.length === 0 ? 'none is allowed' : `allowed are ${roots.join(', ')} and what is below`
  throw new BoxError('BoxValidationError', `host_path "${path}" is outside of box.local.allowed_mount_roots: ${allowed}`)
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path)
  // A path of Windows is none here, and would be taken for one below the current directory.
  return isAbsolute(path) && (way === '' || (way !== '..' && !way.startsWith('../') && !way.startsWith('/')))
}
