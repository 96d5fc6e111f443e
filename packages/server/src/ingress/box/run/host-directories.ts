/**
 * Which directory of this host a client's path means.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A path below an allowed root is what it says. A workspace's own directory (`…/tenants/<namespace>`) that lies elsewhere is one of the
 * client's machine: here it is the directory of the same name below the server's own root. What this host has at such a path does not
 * matter and is not looked at, so no answer tells. A client's own roots can only narrow what the operator allows; whether a directory may
 * be shown is for the mount rules, which every mount passes.
 */
import { join, normalize } from 'node:path'
import type { MountWish } from '@holdfast/protocol'
import { BoxError } from '@holdfast/protocol/box'
import { defaultWorkspace } from '../../../policy/default-workspace.ts'
import { isWithin } from '../../../policy/path-within.ts'
import type { SandboxUser } from '../../../sandboxes/spec.ts'
import type { BoxTenant } from '../tenant.ts'
import type { BoxConfig } from './box-config.ts'
import { tenantDirectory, TENANTS_DIRECTORY } from './owners-places.ts'
import type { HostRoot } from './owners-places.ts'
import type { WorkspacePath } from './workspace-skills.ts'

const NAMESPACE = /^ws-[0-9a-f]{24}$/

export interface HostDirectories {
  /** Makes it where it is the workspace's own. Throws `BoxValidationError`. */
  resolve(tenant: BoxTenant, path: string): Promise<string>
  /** Makes a directory below the root that the operator shares with clients; leaves any other as it is. Throws `mount_refused`. */
  makeShared(path: string): Promise<void>
  /** A path in the workspace's own directory, which is not made; `null` for any other. Throws `BoxValidationError`. */
  locate(tenant: BoxTenant, path: string): WorkspacePath | null
  /** Throws `BoxValidationError` for what the client itself does not allow, or what is another workspace's. */
  check(tenant: BoxTenant, mounts: readonly MountWish[]): void
}

export interface HostDirectoriesNeeds {
  readonly config: Pick<BoxConfig, 'clientRoots'>
  readonly hostRoot: HostRoot
  /** The operator's. */
  readonly allowedRoots: readonly string[]
  readonly user: SandboxUser
}

export function hostDirectories({ config, hostRoot, allowedRoots, user }: HostDirectoriesNeeds): HostDirectories {
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

  return {
    async resolve(tenant, path) {
      const names = namesIn(path)
      const own = ownPart(names, tenant.namespace)
      const here = path.startsWith('/') ? `/${names.join('/')}` : null
      const place = tenantDirectory(hostRoot, tenant.namespace)
      const root = here === null ? undefined : [...operatorRoots, place].find((each) => isWithin(here, normalize(each)))
      if (here !== null && root !== undefined && !isNarrowedOut(here)) return own === null ? here : make(here, root)
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
    check(tenant, mounts) {
      for (const { source } of mounts) {
        ownPart(namesIn(source), tenant.namespace)
        if (isNarrowedOut(normalize(source))) throw refusal(`'${source}' is not below a root that the client allows`)
      }
    },
  }
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
