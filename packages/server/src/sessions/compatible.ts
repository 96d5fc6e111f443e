/**
 * Whether an open session is what a caller asks for now.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { DEFAULT_WORKSPACE, HoldfastError } from '@holdfast/protocol'
import type { MountWish, SandboxWish } from '@holdfast/protocol'
import type { SessionRow } from '../store/tables/sessions.ts'

/** Only fields that the caller names are compared; throws `session_incompatible` naming those that differ. */
export function checkCompatible(
  asked: { readonly wish: SandboxWish; readonly pack?: string | undefined; readonly ownerGroup?: string | null | undefined },
  session: Pick<SessionRow, 'wish' | 'pack' | 'ownerGroup'>,
): void {
  const named = namedOf(asked.wish).filter(([, asks]) => asks !== undefined)
  const has = named.length === 0 ? NO_SHAPE : new Map(shapeOf(session.wish))
  const differing = [
    ...named.map(([field, asks]) => [field, asks, has.get(field)] as const),
    ['pack', asked.pack, session.pack] as const,
    ['owner_group', asked.ownerGroup, session.ownerGroup] as const,
  ].filter(([, asks, known]) => asks !== undefined && asks !== (known ?? null))
  if (differing.length === 0) return
  const list = differing.map(([field, asks, known]) => `${field} (${asks ?? 'none'}, but the session has ${known ?? 'none'})`)
  throw new HoldfastError('session_incompatible', `the session exists with other values of ${list.join(', ')}`, {
    fields: differing.map(([field]) => field),
  })
}

type Shape = readonly (readonly [field: string, value: string | number | null | undefined])[]

/** Most name nothing, and are asked about with every command. */
const NO_SHAPE: ReadonlyMap<string, Shape[number][1]> = new Map()

/** The pipeline is not among them: several may work in one conversation. */
function namedOf({ profile, image, network, rootfs, home, user, workspace, mounts, limits }: SandboxWish): Shape {
  return [
    ['profile', profile],
    ['image', image],
    ['network', network],
    ['rootfs', rootfs],
    ['home', home],
    ['user', user],
    ['workspace.source', workspace?.source],
    ['workspace.mode', workspace?.mode],
    ['workspace.target', workspace?.target],
    ['mounts', mounts === undefined ? undefined : listOf(mounts)],
    ...(limits === undefined ? [] : LIMITS.map((name) => [`limits.${name}`, limits[name]] as const)),
  ]
}

/** What is not recorded is what it was before it could be wished. */
function shapeOf(wish: SandboxWish): Shape {
  const { rootfs = 'read-only', home = 'persistent', user = 'user', workspace = {}, mounts = [] } = wish
  const { mode = 'rw', target = DEFAULT_WORKSPACE } = workspace
  return namedOf({ ...wish, rootfs, home, user, workspace: { ...workspace, mode, target }, mounts })
}

/** In whatever order they are named; `null` for none at all. */
function listOf(mounts: readonly MountWish[]): string | null {
  const words = mounts.map(({ source, target, mode }) => `${source} at ${target} ${mode}`)
  return words.length === 0 ? null : words.toSorted().join(' and ')
}

const LIMITS = ['cpus', 'memory_bytes', 'pids', 'tmp_bytes', 'open_files', 'workspace_bytes'] as const
