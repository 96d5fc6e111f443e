/**
 * What of the host a session's sandbox shows: its own directory, the one that it works in instead, and further ones.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * Everything that a caller names passes the mount rules, when the session is created and each time that a sandbox is made for it.
 */
import { realpath, stat } from 'node:fs/promises'
import { normalize } from 'node:path'
import { DEFAULT_WORKSPACE, HOME, HoldfastError } from '@holdfast/protocol'
import type { MountWish, SandboxWish } from '@holdfast/protocol'
import type { Mount, SandboxUser } from '../sandboxes/spec.ts'
import { hasOwnHome } from '../sessions/habitats.ts'
import type { Log } from '../telemetry/log.ts'
import type { DefaultWorkspace } from './default-workspace.ts'
import { checkTargets } from './mount-targets.ts'
import { checkMounts, serverMount } from './mounts.ts'
import type { OwnPath } from './own-paths.ts'
import { isWithin } from './path-within.ts'
import { inTenant } from './tenant-paths.ts'

export interface MountOwner {
  readonly tenantId: string
  readonly owner: string
}

export interface SessionMounts {
  /** The mounts in the order they are to be made; `own` are the server's, which no caller chose. Throws `mount_refused`. */
  of(wish: SandboxWish, whose: MountOwner, own: readonly Mount[]): Promise<readonly Mount[]>
  /** These and the directories that every session of this owner shows, unless a mount hides their place. */
  withOwners(mounts: readonly Mount[], whose: MountOwner, sessionId: string): Promise<readonly Mount[]>
}

/** What a door gives to those whom it lets in, beyond what everybody may. */
export interface OwnersPlaces {
  /** Further allowed roots of this owner. */
  rootsOf(owner: string): readonly string[]
  /** A directory of the server's own that is this owner's: what lies in it may be shown, wherever the server keeps it. */
  placeOf(owner: string): string | null
  /** Directories of the server's own that every session of this owner shows, made if need be. */
  mountsOf(owner: string, sessionId: string): Promise<readonly Mount[]>
}

export interface SessionMountsNeeds {
  /** May hold `{tenant}`. */
  readonly allowedRoots: readonly string[]
  /** The server's own state; never shown. */
  readonly stateDir: string
  /** Its own programs and configuration; never shown. */
  readonly ownPaths?: readonly OwnPath[]
  readonly user: SandboxUser
  /** Whether a directory's files can be shown as the sandbox user's, no matter who owns them; absent: never. */
  readonly mapsOwners?: ((source: string) => Promise<boolean>) | undefined
  readonly log?: Pick<Log, 'info'>
  readonly defaultWorkspace: DefaultWorkspace | null
  /** Of owners of this one tenant: another tenant may have one of the same name. */
  readonly ownersPlaces?: (OwnersPlaces & { readonly tenantId: string }) | null
}

export function sessionMounts(needs: SessionMountsNeeds): SessionMounts {
  const { allowedRoots, stateDir, ownPaths, log, user, mapsOwners, defaultWorkspace, ownersPlaces = null } = needs
  const placesIn = (tenantId: string) => (ownersPlaces?.tenantId === tenantId ? ownersPlaces : null)
  return {
    async withOwners(mounts, { tenantId, owner }, sessionId) {
      const shown = (await placesIn(tenantId)?.mountsOf(owner, sessionId)) ?? []
      const free = shown.filter(({ target }) => mounts.every((each) => !isWithin(target, each.target) && !isWithin(each.target, target)))
      return free.length === 0 ? mounts : checkTargets([...mounts, ...free])
    },
    async of(wish, { tenantId, owner }, own) {
      const wishes = mountWishes(wish)
      if (wishes.length === 0) return own
      const source = wish.workspace?.source
      if (source !== undefined && source === defaultWorkspace?.of(tenantId)) await defaultWorkspace.make(tenantId)
      const more = placesIn(tenantId)
      const roots = [...allowedRoots.map((root) => inTenant(root, tenantId)), ...(more?.rootsOf(owner) ?? [])]
      const place = more?.placeOf(owner) ?? null
      const [others, placed] = place === null ? [wishes, []] : await inPlace(wishes, place)
      const ownerOf = sharedOwner(more?.rootsOf(owner) ?? [], mapsOwners)
      const mounts = await checkMounts(others, {
        ...{ allowedRoots: roots, stateDir, ownPaths, log, ownerOf },
        ...{ sandboxUid: user.uid, sandboxGid: user.gid },
      })
      if (isSourceShown(wish)) await checkDirectory(wish.workspace?.source ?? '')
      const shown = await Promise.all(placed.map(async (mount) => ({ ...mount, ...ownerField(await ownerOf?.(mount.source)) })))
      return checkTargets([...own, ...shown, ...mounts])
    },
  }
}

/**
 * Who owns what the operator shares with a client, such as root where the client is a container: the client's files are the sandbox user's
 * inside, and the sandbox's files the client's. Other directories of the host keep their owners: a caller chose them, and not the operator.
 */
function sharedOwner(roots: readonly string[], mapsOwners: SessionMountsNeeds['mapsOwners']) {
  if (roots.length === 0 || mapsOwners === undefined) return undefined
  return async (source: string): Promise<number | null> => {
    const real = await Promise.all(roots.map(async (root) => (await realpathOr(root)) ?? root))
    if (!real.some((root) => isWithin(source, root)) || !(await mapsOwners(source))) return null
    return (await stat(source)).uid
  }
}

function ownerField(owner: number | null | undefined): Pick<Mount, 'owner'> {
  return owner === null || owner === undefined ? {} : { owner }
}

/** The session's own directory, unless another is in its place. */
export async function ownWorkspace(wish: SandboxWish, directory: string): Promise<readonly Mount[]> {
  const { source, mode, target = DEFAULT_WORKSPACE } = wish.workspace ?? {}
  if (isSourceShown(wish) && target === DEFAULT_WORKSPACE) return []
  return [await serverMount(directory, DEFAULT_WORKSPACE, source === undefined && mode === 'ro' ? 'ro' : 'rw')]
}

/** The session's own home, unless it asked for none or another directory is in its place. */
export async function ownHome(wish: SandboxWish, directory: string): Promise<readonly Mount[]> {
  return hasOwnHome(wish) ? [await serverMount(directory, HOME, 'rw')] : []
}

/** Whether it shows anything of the host beside the session's own directory. */
export function showsHost(wish: SandboxWish): boolean {
  return mountWishes(wish).length > 0
}

function mountWishes({ workspace = {}, mounts = [] }: SandboxWish): readonly MountWish[] {
  const { source, mode = 'rw', target = DEFAULT_WORKSPACE } = workspace
  return source === undefined || mode === 'none' ? mounts : [{ source, target, mode }, ...mounts]
}

function isSourceShown({ workspace }: SandboxWish): boolean {
  return workspace?.source !== undefined && workspace.mode !== 'none'
}

/** Those that lead into the place are the server's own mounts; the rules are for all others. */
async function inPlace(wishes: readonly MountWish[], place: string): Promise<readonly [readonly MountWish[], readonly Mount[]]> {
  const others: MountWish[] = []
  const placed: Mount[] = []
  const root = await realpathOr(place)
  for (const wish of wishes) {
    // The disk is looked at only for what is written as a path in the place.
    const isWritten = [place, root].some((each) => each !== null && isWithin(normalize(wish.source), each))
    const source = isWritten ? await realpathOr(wish.source) : null
    if (source !== null && root !== null && isWithin(source, root)) placed.push({ ...wish, source })
    else others.push(wish)
  }
  return [others, placed]
}

/** `null` when there is nothing. */
async function realpathOr(path: string): Promise<string | null> {
  return realpath(path).catch(() => null)
}

async function checkDirectory(source: string): Promise<void> {
  if ((await stat(source)).isDirectory()) return
  throw new HoldfastError('mount_refused', `'${source}' cannot be the workspace: it is not a directory`, { path: source })
}
