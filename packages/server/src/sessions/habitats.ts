/**
 * Where a session lives inside its sandbox: its files on the host, the spec that shows them, and who it is in there.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A session of its own has the whole sandbox and `/workspace`. A packed one has a user, a home and a workspace of its own
 * beside its neighbours', in a directory that all sandboxes of its packing key show.
 */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxWish, WorkspaceVerdict } from '@holdfast/protocol'
import { makePackedPlace, makePackedSource, removePackedPlace } from '../sandboxes/packed-directory.ts'
import { packedPaths } from '../sandboxes/packing.ts'
import type { PackedUsers, SandboxSpec } from '../sandboxes/spec.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { Inhabitant } from './executions/command.ts'
import { uidRangeOf } from './packing.ts'
import type { Workspaces } from './workspaces.ts'

export interface Habitat {
  readonly spec: SandboxSpec
  readonly verdict: WorkspaceVerdict
}

/** What of the session's files the sandbox shows: a workspace of its own, or places among others. */
export type Shown = { readonly workspace: string } | { readonly packed: Omit<PackedUsers, 'pidsPerUid'> }

export interface Habitats {
  /** Makes the session's directories if they are not there, and says what they were found to be. */
  prepare(session: SessionRow): Promise<Habitat>
  /** Safe to repeat; the sandbox must be gone, or the session's processes in it. */
  remove(session: SessionRow): Promise<void>
}

export interface HabitatNeeds {
  readonly workspaces: Workspaces
  /** Holds one directory per packing key; exists. */
  readonly packsDirectory: string
  /** Policy's answer to a wish, with these files. */
  specFor(wish: SandboxWish, shown: Shown): Promise<SandboxSpec>
}

export function createHabitats({ workspaces, packsDirectory, specFor }: HabitatNeeds): Habitats {
  async function preparePacked(session: SessionRow, packKey: string, uid: number): Promise<Habitat> {
    const source = join(packsDirectory, packKey)
    await makePackedSource(source)
    await workspaces.setAsideIfStale(session.id, session.incarnation, join(source, session.id))
    const isMissing = session.pendingReason !== 'create' && !(await exists(join(source, session.id)))
    if (isMissing) await workspaces.noteLoss(session.id, session.incarnation)
    await makePackedPlace(source, session.id, uid)
    await workspaces.noteServed(session.id, session.incarnation)
    const { first, count } = uidRangeOf(packKey)
    const spec = await specFor(session.wish, { packed: { source, firstUid: first, count } })
    return { spec, verdict: (await workspaces.isLossNoted(session.id, session.incarnation)) ? 'lost' : 'intact' }
  }

  return {
    async prepare(session) {
      if (session.packKey !== null && session.packUid !== null) return preparePacked(session, session.packKey, session.packUid)
      const { files, verdict } = await workspaces.open(session.id, session.incarnation, session.pendingReason !== 'create')
      return { spec: await specFor(session.wish, { workspace: files }), verdict }
    },
    async remove(session) {
      if (session.packKey !== null) await removePackedPlace(join(packsDirectory, session.packKey), session.id)
      await workspaces.remove(session.id)
    },
  }
}

/** Who the session is inside, when it is not alone there. */
export function inhabitantOf({ id, packUid }: SessionRow): Inhabitant | null {
  return packUid === null ? null : { uid: packUid, ...packedPaths(id) }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
