/**
 * Which directory of this host a client's path means.
 *
 * A path below an allowed root is what it says. A workspace's own directory (`…/tenants/<namespace>`) that lies elsewhere is one of the
 * client's machine: here it is the directory of the same name below the server's own root. What this host has at such a path does not
 * matter and is not looked at, so no answer tells. A directory that holds those of several workspaces belongs to none of them, and clients
 * with workspaces cannot name it. A client's own roots can only narrow what the operator allows; whether a directory may
 * be shown is for the mount rules, which every mount passes.
 */
import { access, readdir, realpath } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import type { MountWish } from '@holdfast/protocol'
import { BoxError } from '@holdfast/protocol/box'
import type { BoxSpec } from '@holdfast/protocol/box'
import { hasErrorCode } from '../../../home/error-code.ts'
import { defaultWorkspace } from '../../../policy/default-workspace.ts'
import { isWithin } from '../../../policy/path-within.ts'
import type { Mount, SandboxUser } from '../../../sandboxes/spec.ts'
import type { BoxTenant } from '../tenant.ts'
import type { ArtifactSources } from './artifacts.ts'
import type { BoxConfig } from './box-config.ts'
import type { ArtifactMount } from './extra-mounts.ts'
import { tenantDirectory, TENANTS_DIRECTORY } from './owners-places.ts'
import type { HostRoot } from './owners-places.ts'
import type { WorkspacePath } from './workspace-skills.ts'

/** Any that the rules allow: nothing is mounted there. */
const PACKAGE_TARGET = '/mnt/package'
const MANIFEST_TARGET = '/mnt/manifest'
const NAMESPACE = /^ws-[0-9a-f]{24}$/

export interface HostDirectories {
  /** Makes it if it is not there. Throws `BoxValidationError`. */
  resolve(tenant: BoxTenant, path: string): Promise<string>
  /** Makes a directory below the root that the operator shares with clients; leaves any other as it is. Throws `mount_refused`. */
  makeShared(path: string): Promise<void>
  /** A path in the workspace's own directory, which is not made; `null` for any other. Throws `BoxValidationError`. */
  locate(tenant: BoxTenant, path: string): WorkspacePath | null
  /** Throws `BoxValidationError` for what the client itself does not allow, or what is another workspace's. */
  check(tenant: BoxTenant, mounts: readonly MountWish[]): Promise<void>
  /** The workspace's own directory, there or not. */
  ownOf(tenant: BoxTenant): WorkspaceDirectory
  /** Where an artifact is copied from, without links. Throws `BoxValidationError` and `mount_refused`. */
  artifactSources(tenant: BoxTenant, artifact: ArtifactMount): Promise<ArtifactSources>
}

export interface WorkspaceDirectory {
  readonly path: string
  /** What a client sees: the path where it may see it too. */
  readonly shownAs: string
}

export interface HostDirectoriesNeeds {
  readonly config: Pick<BoxConfig, 'clientRoots' | 'defaultWorkspace'>
  readonly hostRoot: HostRoot
  /** The operator's. */
  readonly allowedRoots: readonly string[]
  readonly user: SandboxUser
  /** The rules that every mount of the workspace's sessions passes. Throws `mount_refused`. */
  readonly checkMounts: (tenant: BoxTenant, mounts: readonly MountWish[]) => Promise<readonly Mount[]>
}

export function hostDirectories({ config, hostRoot, allowedRoots, user, checkMounts }: HostDirectoriesNeeds): HostDirectories {
  const operatorRoots = hostRoot.isShared ? [...allowedRoots, hostRoot.path] : allowedRoots

  async function make(path: string, root: string): Promise<string> {
    await defaultWorkspace({ directory: path, allowedRoots: [root], user }).make('')
    return path
  }

  /** What the operator gave this door for its clients, they need not name. */
  function isNarrowedOut(path: string): boolean {
    const { clientRoots } = config
    return clientRoots !== null && !isWithin(path, hostRoot.path) && !clientRoots.some((root) => isWithin(path, root))
  }

  /** Throws for a directory that holds those of workspaces, and for one that a link leads to another's. Only looks below allowed roots. */
  async function checkApart({ namespace, placement }: BoxTenant, path: string): Promise<void> {
    if (placement === '' || !operatorRoots.some((root) => isWithin(path, normalize(root)))) return
    const real = await realpath(path).catch(() => path)
    for (const each of new Set([path, real])) {
      if (ownPart(namesIn(each), namespace) !== null) continue
      const holders = [hostRoot.path, join(hostRoot.path, 'default'), join(hostRoot.path, 'skills'), config.defaultWorkspace]
      const isAround = holders.some((holder) => isWithin(join(holder, TENANTS_DIRECTORY), each))
      const inside = each.endsWith(`/${TENANTS_DIRECTORY}`) ? each : join(each, TENANTS_DIRECTORY)
      if (isAround || (await readdir(inside).catch(() => [])).some((name) => NAMESPACE.test(name)))
        throw refusal(`'${path}' holds the directories of several workspaces; name the workspace's own, or one beside them`)
    }
  }

  async function check(tenant: BoxTenant, path: string): Promise<void> {
    ownPart(namesIn(path), tenant.namespace)
    if (isNarrowedOut(normalize(path))) throw refusal(`'${path}' is not below a root that the client allows`)
    await checkApart(tenant, normalize(path))
  }

  return {
    async resolve(tenant, path) {
      const names = namesIn(path)
      const own = ownPart(names, tenant.namespace)
      const here = path.startsWith('/') ? `/${names.join('/')}` : null
      const place = tenantDirectory(hostRoot, tenant.namespace)
      const root = here === null ? undefined : [...operatorRoots, place].find((each) => isWithin(here, normalize(each)))
      if (here !== null && root !== undefined && !isNarrowedOut(here)) {
        await checkApart(tenant, here)
        return own !== null || (await isMissing(here)) ? make(here, root) : here
      }
      if (root !== undefined || (own === null && tenant.placement !== ''))
        throw refusal(`'${path}' is not below an allowed root; set box.host_root or mounts.allowed_roots to a directory that holds it`)
      return make(join(place, ...(own ?? [])), hostRoot.path)
    },
    async makeShared(path) {
      if (hostRoot.isShared && isWithin(path, hostRoot.path)) await make(path, hostRoot.path)
    },
    locate(tenant, path) {
      const names = namesIn(path)
      const own = ownPart(names, tenant.namespace)
      if (own === null) return null
      const here = `/${names.join('/')}`
      const isHere = path.startsWith('/') && operatorRoots.some((root) => isWithin(here, normalize(root)))
      const root = isHere ? `/${names.slice(0, names.length - own.length).join('/')}` : tenantDirectory(hostRoot, tenant.namespace)
      return { root, names: own }
    },
    async check(tenant, mounts) {
      for (const { source } of mounts) await check(tenant, source)
    },
    ownOf({ namespace, placement }) {
      const shared = placement === '' ? config.defaultWorkspace : join(config.defaultWorkspace, TENANTS_DIRECTORY, namespace)
      if (operatorRoots.some((root) => isWithin(shared, normalize(root)))) return { path: shared, shownAs: shared }
      return { path: tenantDirectory(hostRoot, namespace), shownAs: join(TENANTS_DIRECTORY, namespace) }
    },
    async artifactSources(tenant, { packagePath, manifestPath }) {
      for (const path of [packagePath, manifestPath]) await check(tenant, path)
      const shown = await checkMounts(tenant, [
        { source: packagePath, target: PACKAGE_TARGET, mode: 'ro' },
        { source: manifestPath, target: MANIFEST_TARGET, mode: 'ro' },
      ])
      const sourceAt = (target: string) => shown.find((mount) => mount.target === target)?.source ?? ''
      return { packagePath: sourceAt(PACKAGE_TARGET), manifestPath: sourceAt(MANIFEST_TARGET) }
    },
  }
}

/** Without a context LangBot 4.10 names the default workspace and means the workspace's own directory in it. */
export function inOwnDirectory({ namespace }: BoxTenant, spec: BoxSpec): BoxSpec {
  const { host_path: path } = spec
  if (path === null || namesIn(path).includes(namespace)) return spec
  const separator = path.includes('/') ? '/' : '\\'
  return { ...spec, host_path: [path.replace(/[/\\]$/, ''), TENANTS_DIRECTORY, namespace].join(separator) }
}

async function isMissing(path: string): Promise<boolean> {
  return access(path).then(
    () => false,
    (error: unknown) => hasErrorCode(error, 'ENOENT'),
  )
}

function namesIn(path: string): readonly string[] {
  const names = path.split(/[/\\]+/).filter((name) => name !== '')
  if (names.includes('..') || names.includes('.')) throw refusal('must not contain "." or ".."')
  return names
}

/** What follows `tenants/<namespace>`; `null`: it is not the workspace's own. Throws for that of another one. */
function ownPart(names: readonly string[], namespace: string): readonly string[] | null {
  for (const [index, name] of names.entries()) {
    const next = names[index + 1] ?? ''
    if (name !== TENANTS_DIRECTORY || !NAMESPACE.test(next)) continue
    if (next !== namespace) throw refusal('is the directory of another workspace')
    return names.slice(index + 2)
  }
  return null
}

function refusal(problem: string): BoxError {
  return new BoxError('BoxValidationError', `host_path: ${problem}`)
}
