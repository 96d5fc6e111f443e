/**
 * Where a session lives inside its sandbox: its files on the host, the spec that shows them, and who it is in there.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A session of its own has the whole sandbox and `/workspace`. A packed one has a user, a home and a workspace of its own
 * beside its neighbours', in a directory that all sandboxes of its packing key show.
 */
import { access } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { DEFAULT_WORKSPACE, HOME } from '@holdfast/protocol'
import type { SandboxWish, WorkspaceVerdict } from '@holdfast/protocol'
import { PRIVATE_TMP } from '../guest/exec-request.ts'
import type { BackendKind } from '../sandboxes/backend.ts'
import { makePackedPlace, makePackedSource, removePackedPlace } from '../sandboxes/packed-directory.ts'
import { packedPaths, packedPlace } from '../sandboxes/packing.ts'
import { withRootLayer } from '../sandboxes/root-layer.ts'
import { sandboxUserOnHost } from '../sandboxes/sandbox-user.ts'
import type { HostUsers, PackedUsers, SandboxSpec, SandboxUser } from '../sandboxes/spec.ts'
import { SKILLS_TARGET } from '../skills/skill-views.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { Inhabitant } from './executions/command.ts'
import { uidRangeOf } from './packing.ts'
import type { MeasuredPlace } from './workspace-quota/measuring.ts'
import type { Workspaces } from './workspaces.ts'

export interface Habitat {
  readonly spec: SandboxSpec
  readonly verdict: WorkspaceVerdict
}

/** What of the session's files the sandbox shows: a workspace of its own with a view of skills, or places among others. */
export type Shown =
  | { readonly workspace: string; readonly home: string; readonly skills: string }
  | { readonly packed: Omit<PackedUsers, 'pidsPerUid'> }

export interface Habitats {
  /** Makes the session's directories if they are not there, and says what they were found to be. */
  prepare(session: SessionRow, backend: BackendKind): Promise<Habitat>
  /** Where the session can write, on the host and inside: what its bound is about. Further mounts are not. */
  placesOf(session: SessionRow): readonly MeasuredPlace[]
  /** Removes what a reset of the home left. Safe to repeat; the sandbox must be gone, or the session's processes in it. */
  removeOldHomes(session: SessionRow): Promise<void>
  /** The same for everything of the session. */
  remove(session: SessionRow): Promise<void>
}

/** Directories that show skills to sandboxes, one for each session. */
export interface PlacedViews {
  /** Made if need be. */
  place(sessionId: string): Promise<string>
  /** The same, there or not. */
  shownAt(sessionId: string): string
  give(sessionId: string, user: SandboxUser): Promise<void>
  remove(sessionId: string): Promise<void>
}

export interface HabitatNeeds {
  readonly workspaces: Workspaces
  readonly skillViews: PlacedViews
  /** Holds one directory per packing key; exists. */
  readonly packsDirectory: string
  /** Of the backends, which keep changes of writable roots there. */
  readonly stateDirectory: string
  /** Policy's answer to a session's wish, with these files. */
  specFor(session: Pick<SessionRow, 'id' | 'wish' | 'tenantId' | 'owner'>, shown: Shown): Promise<SandboxSpec>
  /** Who its sandbox is on the host; `null`: who all sandboxes are. */
  usersFor(session: SessionRow, spec: SandboxSpec, backend: BackendKind): Promise<HostUsers | null>
}

export function createHabitats({ workspaces, skillViews, packsDirectory, stateDirectory, specFor, usersFor }: HabitatNeeds): Habitats {
  async function withUsers(session: SessionRow, spec: SandboxSpec, backend: BackendKind): Promise<SandboxSpec> {
    const users = await usersFor(session, spec, backend)
    return users === null ? spec : { ...spec, users }
  }

  async function preparePacked(session: SessionRow, backend: BackendKind, packKey: string, uid: number): Promise<Habitat> {
    const source = join(packsDirectory, packKey)
    await makePackedSource(source)
    await workspaces.setAsideIfStale(session.id, session.incarnation, join(source, session.id))
    const isMissing = session.pendingReason !== 'create' && !(await exists(join(source, session.id)))
    if (isMissing) await workspaces.noteLoss(session.id, session.incarnation)
    await workspaces.removeOldHomes(join(source, session.id), homeGenerationOf(session))
    await makePackedPlace(source, session.id, uid, homeGenerationOf(session))
    await workspaces.noteServed(session.id, session.incarnation)
    const { first, count } = uidRangeOf(packKey)
    const spec = await withUsers(session, await specFor(session, { packed: { source, firstUid: first, count } }), backend)
    return { spec, verdict: (await workspaces.isLossNoted(session.id, session.incarnation)) ? 'lost' : 'intact' }
  }

  return {
    async prepare(session, backend) {
      if (session.packKey !== null && session.packUid !== null) return preparePacked(session, backend, session.packKey, session.packUid)
      const generation = homeGenerationOf(session)
      const hadOne = session.pendingReason !== 'create'
      const { files, home, verdict } = await workspaces.open(session.id, session.incarnation, hadOne, generation)
      const skills = await skillViews.place(session.id)
      const spec = await withUsers(session, await specFor(session, { workspace: files, home, skills }), backend)
      const owner = spec.users === undefined ? sandboxUserOnHost() : { uid: spec.users.commands, gid: spec.users.commands }
      await Promise.all([workspaces.give(session.id, generation, owner), skillViews.give(session.id, owner)])
      // Nobody must fill what no sandbox shows.
      if (spec.mounts.every(({ source }) => source !== skills)) await skillViews.remove(session.id)
      else await workspaces.makePoint(session.id, posix.basename(SKILLS_TARGET), owner)
      return { spec, verdict }
    },
    placesOf(session) {
      const { id, packKey, wish, sandboxId } = session
      if (packKey !== null) return [{ directory: join(packsDirectory, packKey, id), inside: packedPlace(id) }]
      const { source, mode, target = DEFAULT_WORKSPACE } = wish.workspace ?? {}
      const own = { directory: workspaces.filesOf(id), inside: DEFAULT_WORKSPACE }
      const skills = { directory: skillViews.shownAt(id), inside: SKILLS_TARGET }
      const home = hasOwnHome(wish) ? [{ directory: workspaces.homeOf(id, homeGenerationOf(session)), inside: HOME }] : []
      const shown = mode === 'ro' || source === undefined ? [] : [{ directory: source, inside: target }]
      const isOwn = source === undefined || mode === 'none'
      const places = isOwn ? [own, ...home, skills] : [...home, ...(target === DEFAULT_WORKSPACE ? [] : [own]), ...shown, skills]
      return wish.rootfs !== 'writable' || sandboxId === null ? places : withRootLayer(places, stateDirectory, sandboxId)
    },
    removeOldHomes(session) {
      const place = session.packKey === null ? workspaces.storageOf(session.id) : join(packsDirectory, session.packKey, session.id)
      return workspaces.removeOldHomes(place, homeGenerationOf(session))
    },
    async remove(session) {
      if (session.packKey !== null) await removePackedPlace(join(packsDirectory, session.packKey), session.id)
      await skillViews.remove(session.id)
      await workspaces.remove(session.id)
    },
  }
}

/** Who the session is inside, when it is not alone there. */
export function inhabitantOf(session: SessionRow): Inhabitant | null {
  const { id, packUid } = session
  return packUid === null ? null : { uid: packUid, ...packedPaths(id, homeGenerationOf(session)) }
}

/** Whether its home is on disk and its own: it did not ask for an ephemeral one, and no directory of the host is in its place. */
export function hasOwnHome({ home, workspace, mounts = [] }: SandboxWish): boolean {
  const isSourceThere = workspace?.source !== undefined && workspace.mode !== 'none' && workspace.target === HOME
  return home !== 'ephemeral' && !isSourceThere && mounts.every(({ target }) => target !== HOME)
}

/** Where a session of its own has room for what programs keep for a moment. Only where its home was made with one. */
export function privateTmpOf({ wish, packUid }: Pick<SessionRow, 'wish' | 'packUid'>): string | null {
  return packUid === null && wish.home === 'persistent' && hasOwnHome(wish) ? `${HOME}/${PRIVATE_TMP}` : null
}

function homeGenerationOf({ wish }: Pick<SessionRow, 'wish'>): number {
  return wish.home_generation ?? 0
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
