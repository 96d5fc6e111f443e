/**
 * Workspaces on disk: the files of a session. They belong to the session and outlive its sandbox.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * `<workspaces>/<session id>/files` is mounted at `/workspace`. Named by the server's own id, never by a caller's text. Directories
 * without a session are never removed: a home may have been given another database.
 */
import { chown, mkdir, readFile, rename, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { WorkspaceVerdict } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { randomId } from '../home/random-id.ts'
import { removeTree } from '../home/remove-tree.ts'
import type { SandboxFiles } from '../home/sandbox-files.ts'
import { isServerRoot } from '../sandboxes/sandbox-user.ts'
import type { SandboxUser } from '../sandboxes/spec.ts'

export interface Workspace {
  /** The host directory to mount. */
  readonly files: string
  readonly verdict: WorkspaceVerdict
}

export interface Workspaces {
  /** The session's storage: removed with it, whatever lies in it. */
  storageOf(sessionId: string): string
  /** The host directory to mount, there or not. */
  filesOf(sessionId: string): string
  /** The kept one, or a new one; `lost` when there should have been one. The same incarnation is told the same again. */
  open(sessionId: string, incarnation: number, hadOne: boolean): Promise<Workspace>
  /** Written down before the new one is made, so that no crash makes it pass for the old one. */
  noteLoss(sessionId: string, incarnation: number): Promise<void>
  isLossNoted(sessionId: string, incarnation: number): Promise<boolean>
  /** Moves files out of the way that were not the session's last ones: another server has served it since. Told as a loss. */
  setAsideIfStale(sessionId: string, incarnation: number, files: string): Promise<void>
  /** The files here are those of this incarnation from now on. */
  noteServed(sessionId: string, incarnation: number): Promise<void>
  /** Its files belong to this user of the host from now on. No sandbox of the session may run. Safe to repeat, also after a crash. */
  give(sessionId: string, user: SandboxUser): Promise<void>
  /** After `give` to the same user: what a mount is to be made on, at the top of its files. No sandbox of the session may run. */
  makePoint(sessionId: string, name: string, user: SandboxUser): Promise<void>
  /** Removes it, whatever a sandbox made of it. Safe to repeat. */
  remove(sessionId: string): Promise<void>
}

const SESSION_ID = /^ses_[0-9a-z]{16}$/

export function createWorkspaces(directory: string, sandboxFiles: SandboxFiles): Workspaces {
  function placeOf(sessionId: string): string {
    if (!SESSION_ID.test(sessionId)) throw new HoldfastError('internal', 'a session id is not what the server makes')
    return join(directory, sessionId)
  }
  const filesOf = (sessionId: string) => join(placeOf(sessionId), 'files')
  const lossNote = (sessionId: string, incarnation: number) => join(placeOf(sessionId), `lost-before-${incarnation}`)

  async function noteLoss(sessionId: string, incarnation: number): Promise<void> {
    await mkdir(lossNote(sessionId, incarnation), { recursive: true, mode: 0o700 })
  }

  const isLossNoted = (sessionId: string, incarnation: number) => isDirectory(lossNote(sessionId, incarnation))

  const servedNote = (sessionId: string) => join(placeOf(sessionId), 'served')

  async function noteServed(sessionId: string, incarnation: number): Promise<void> {
    await mkdir(placeOf(sessionId), { recursive: true, mode: 0o700 })
    await writeFile(`${servedNote(sessionId)}.new`, String(incarnation), { mode: 0o600 })
    await rename(`${servedNote(sessionId)}.new`, servedNote(sessionId))
  }

  /** Incarnations follow one another, so what served neither this one nor the one before is too old. */
  async function setAsideIfStale(sessionId: string, incarnation: number, files: string): Promise<void> {
    const served = Number((await readFile(servedNote(sessionId), 'utf8').catch(missing)) ?? 0)
    if (served === 0 || served >= incarnation - 1) return
    await noteLoss(sessionId, incarnation)
    await rename(files, join(placeOf(sessionId), `before-${incarnation}-${randomId('old')}`)).catch(missing)
  }

  return {
    storageOf: placeOf,
    filesOf,
    noteServed,
    setAsideIfStale,
    async open(sessionId, incarnation, hadOne) {
      const files = filesOf(sessionId)
      await setAsideIfStale(sessionId, incarnation, files)
      if (!(await isDirectory(files))) {
        if (hadOne) await noteLoss(sessionId, incarnation)
        await mkdir(files, { recursive: true, mode: 0o700 })
      }
      await noteServed(sessionId, incarnation)
      return { files, verdict: (await isLossNoted(sessionId, incarnation)) ? 'lost' : 'intact' }
    },
    noteLoss,
    isLossNoted,
    async give(sessionId, { uid, gid }) {
      const files = filesOf(sessionId)
      const halfGiven = join(placeOf(sessionId), 'half-given')
      const [{ uid: owner }, isHalfGiven] = await Promise.all([stat(files), isDirectory(halfGiven)])
      if (owner === uid && !isHalfGiven) return
      // Still root's: it is new, and no sandbox has written to it.
      if (isServerRoot() && owner === 0 && !isHalfGiven) return chown(files, uid, gid)
      await mkdir(halfGiven, { recursive: true, mode: 0o700 })
      await sandboxFiles.give(files, { uid, gid })
      await rmdir(halfGiven)
    },
    makePoint: (sessionId, name, user) => sandboxFiles.makePoint(filesOf(sessionId), name, user),
    async remove(sessionId) {
      const place = placeOf(sessionId)
      const doomed = join(directory, `.doomed-${sessionId}`)
      // Out of sight in one step: half a workspace is never taken for a whole one.
      await rename(place, doomed).catch(missing)
      await sandboxFiles.takeBack(doomed)
      await removeTree(doomed)
    },
  }
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return false
    throw error
  }
}
