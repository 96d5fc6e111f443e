/**
 * Workspaces and homes on disk: the files of a session. They belong to the session and outlive its sandbox.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * `<workspaces>/<session id>/files` is mounted at `/workspace`, `home` beside it at `/home/user`. Named by the server's own id, never by a
 * caller's text. Directories without a session are never removed: the server may have been given another database.
 *
 * A reset of the home raises its generation in the session's row, and the generation is part of the directory's name: the next sandbox
 * cannot show an old home, whatever crash happens, and an old one can be removed at any time after its sandbox is gone.
 */
import { chown, lchown, mkdir, readFile, readdir, rename, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { WorkspaceVerdict } from '@holdfast/protocol'
import { PRIVATE_TMP } from '../guest/exec-request.ts'
import { hasErrorCode } from '../home/error-code.ts'
import { randomId } from '../home/random-id.ts'
import { removeTree } from '../home/remove-tree.ts'
import type { SandboxFiles } from '../home/sandbox-files.ts'
import { homeName } from '../sandboxes/packing.ts'
import { isServerRoot } from '../sandboxes/sandbox-user.ts'
import type { SandboxUser } from '../sandboxes/spec.ts'

export interface Workspace {
  /** The host directories to mount. */
  readonly files: string
  readonly home: string
  readonly verdict: WorkspaceVerdict
}

export interface Workspaces {
  /** The session's storage: removed with it, whatever lies in it. */
  storageOf(sessionId: string): string
  /** The host directories to mount, there or not. */
  filesOf(sessionId: string): string
  homeOf(sessionId: string, generation: number): string
  /** The kept one, or a new one; `lost` when there should have been one. The same incarnation is told the same again. */
  open(sessionId: string, incarnation: number, hadOne: boolean, homeGeneration: number): Promise<Workspace>
  /** Written down before the new one is made, so that no crash makes it pass for the old one. */
  noteLoss(sessionId: string, incarnation: number): Promise<void>
  isLossNoted(sessionId: string, incarnation: number): Promise<boolean>
  /** Moves files out of the way that were not the session's last ones: another server has served it since. Told as a loss. */
  setAsideIfStale(sessionId: string, incarnation: number, ...directories: readonly string[]): Promise<void>
  /** The files here are those of this incarnation from now on. */
  noteServed(sessionId: string, incarnation: number): Promise<void>
  /** Its files and its home belong to this user of the host from now on. No sandbox of the session may run. Safe to repeat, also after a crash. */
  give(sessionId: string, homeGeneration: number, user: SandboxUser): Promise<void>
  /** After `give` to the same user: what a mount is to be made on, at the top of its files. No sandbox of the session may run. */
  makePoint(sessionId: string, name: string, user: SandboxUser): Promise<void>
  /** Removes homes of earlier generations from a directory that holds some; no sandbox may show them. Safe to repeat. */
  removeOldHomes(place: string, generation: number): Promise<void>
  /** Removes it, whatever a sandbox made of it. Safe to repeat. */
  remove(sessionId: string): Promise<void>
}

/** What `homeName` makes. */
const HOME_NAME = /^home(?:-\d+)?$/
const SESSION_ID = /^ses_[0-9a-z]{16}$/

export function createWorkspaces(directory: string, sandboxFiles: SandboxFiles): Workspaces {
  function placeOf(sessionId: string): string {
    if (!SESSION_ID.test(sessionId)) throw new HoldfastError('internal', 'a session id is not what the server makes')
    return join(directory, sessionId)
  }
  const filesOf = (sessionId: string) => join(placeOf(sessionId), 'files')
  const homeOf = (sessionId: string, generation: number) => join(placeOf(sessionId), homeName(generation))
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
  async function setAsideIfStale(sessionId: string, incarnation: number, ...directories: readonly string[]): Promise<void> {
    const served = Number((await readFile(servedNote(sessionId), 'utf8').catch(missing)) ?? 0)
    if (served === 0 || served >= incarnation - 1) return
    await noteLoss(sessionId, incarnation)
    for (const files of directories)
      await rename(files, join(placeOf(sessionId), `before-${incarnation}-${randomId('old')}`)).catch(missing)
  }

  /** By place: a second caller waits for the first instead of removing the same files. */
  const removing = new Map<string, Promise<void>>()

  async function removeOldHomes(place: string, generation: number): Promise<void> {
    if (generation === 0) return
    await removing.get(place)?.catch(() => undefined)
    const removed = removeHomes(place, generation).finally(() => removing.delete(place))
    removing.set(place, removed)
    return removed
  }

  async function removeHomes(place: string, generation: number): Promise<void> {
    const names = (await readdir(place).catch(missing)) ?? []
    for (const name of names.filter((each) => HOME_NAME.test(each) && each !== homeName(generation))) {
      await sandboxFiles.takeBack(join(place, name))
      await removeTree(join(place, name))
    }
  }

  /** Empty for each sandbox, as `/tmp` is, but on disk: builds take more than memory has. Nothing of the session runs, so nothing can be swapped. */
  async function makePrivateTmp(home: string, user: SandboxUser): Promise<void> {
    const path = join(home, PRIVATE_TMP)
    try {
      await removeTree(path)
      await mkdir(path, { mode: 0o700 })
      if (isServerRoot()) await lchown(path, user.uid, user.gid)
    } catch (error) {
      if (!hasErrorCode(error, 'EACCES')) throw error
      // Files of a subordinate user: it is made if need be, and what is in it stays.
      await sandboxFiles.makePoint(home, PRIVATE_TMP, user)
    }
  }

  return {
    storageOf: placeOf,
    filesOf,
    homeOf,
    noteServed,
    setAsideIfStale,
    async open(sessionId, incarnation, hadOne, homeGeneration) {
      const files = filesOf(sessionId)
      const home = homeOf(sessionId, homeGeneration)
      await setAsideIfStale(sessionId, incarnation, files, home)
      if (!(await isDirectory(files))) {
        if (hadOne) await noteLoss(sessionId, incarnation)
        await mkdir(files, { recursive: true, mode: 0o700 })
      }
      await removeOldHomes(placeOf(sessionId), homeGeneration)
      await mkdir(home, { mode: 0o700 }).catch(existing)
      await noteServed(sessionId, incarnation)
      return { files, home, verdict: (await isLossNoted(sessionId, incarnation)) ? 'lost' : 'intact' }
    },
    noteLoss,
    isLossNoted,
    async give(sessionId, homeGeneration, { uid, gid }) {
      const directories = [filesOf(sessionId), homeOf(sessionId, homeGeneration)]
      const halfGiven = join(placeOf(sessionId), 'half-given')
      const [isHalfGiven, ...owners] = await Promise.all([
        isDirectory(halfGiven),
        ...directories.map(async (path) => (await stat(path)).uid),
      ])
      const others = directories.filter((_, index) => isHalfGiven || owners[index] !== uid)
      // Still root's: these are new, and no sandbox has written to them.
      const isNew = isServerRoot() && !isHalfGiven && others.every((path) => owners[directories.indexOf(path)] === 0)
      if (isNew) await Promise.all(others.map((path) => chown(path, uid, gid)))
      else if (others.length > 0) {
        await mkdir(halfGiven, { recursive: true, mode: 0o700 })
        for (const path of others) await sandboxFiles.give(path, { uid, gid })
        await rmdir(halfGiven)
      }
      await makePrivateTmp(homeOf(sessionId, homeGeneration), { uid, gid })
    },
    removeOldHomes,
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

function existing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error
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
