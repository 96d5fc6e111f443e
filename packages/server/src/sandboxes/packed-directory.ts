/**
 * The host's side of a packed sandbox: the directory that is shown at `/sessions`, and the places of sessions in it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * ```
 * <source>                  root, 0711: its users pass through, and cannot list it
 *   <session id>            root, 0711: a program cannot put a link where the server will make or remove something
 *     home                  the session's uid, 0700
 *       .tmp                the session's uid, 0700: its TMPDIR
 *     workspace             the session's uid, 0700
 * ```
 *
 * A place can be made and removed while the sandbox runs. Only root can do any of this.
 */
import { chmod, chown, lstat, mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { PRIVATE_TMP } from '../guest/exec-request.ts'
import { removeTree } from '../home/remove-tree.ts'
import { assertPlaceName, homeName } from './packing.ts'
import type { SandboxSpec } from './spec.ts'

const PASSABLE = 0o711
const PRIVATE = 0o700

/** Made if need be, with the owner and mode that the backends ask for. Its parent exists. */
export async function makePackedSource(source: string): Promise<void> {
  await makeDirectory(source, PASSABLE, 0)
}

/**
 * Made if need be; one that is there already is left as it is, also while its session runs. Throws `mount_refused` where
 * something else is in the way, or the place is another uid's: a session keeps its uid for life.
 */
export async function makePackedPlace(source: string, sessionId: string, uid: number, homeGeneration = 0): Promise<void> {
  assertPlaceName(sessionId)
  const place = join(source, sessionId)
  const home = join(place, homeName(homeGeneration))
  await makeDirectory(place, PASSABLE, 0)
  if ((await ownerOf(join(place, 'workspace'), uid)) === 'nobody') await makeDirectory(join(place, 'workspace'), PRIVATE, uid)
  if ((await ownerOf(home, uid)) === 'session') return
  await makeDirectory(home, PRIVATE, 0)
  // While the home is still root's: once it is the session's, a program could put a link there.
  await makeDirectory(join(home, PRIVATE_TMP), PRIVATE, uid)
  await chown(home, uid, uid)
}

/** Safe to repeat. Kill everything of its uid first: nothing here waits for a program that still writes. */
export async function removePackedPlace(source: string, sessionId: string): Promise<void> {
  assertPlaceName(sessionId)
  await removeTree(join(source, sessionId))
}

/** Throws `mount_refused` unless the source is what keeps neighbours apart. Nothing to do for a sandbox that is not packed. */
export async function assertPackedSource({ packed }: SandboxSpec): Promise<void> {
  if (packed === undefined) return
  const { source } = packed
  const refuse = (why: string, cause?: unknown): never => {
    throw new HoldfastError('mount_refused', `${source} cannot hold the places of sessions: ${why}`, { source }, { cause })
  }
  const canonical = await realpath(source).catch((error: unknown) => refuse('it does not exist', error))
  if (canonical !== source) refuse('it is not the path that it leads to')
  const status = await lstat(source)
  const mode = status.mode & 0o7777
  if (!status.isDirectory() || status.uid !== 0 || mode !== PASSABLE)
    refuse(`it must be a directory of root with mode 0711, and is one of ${status.uid} with mode 0${mode.toString(8)}`)
}

async function makeDirectory(path: string, mode: number, uid: number): Promise<void> {
  await mkdir(path, { mode }).catch(ignoreExisting)
  const status = await lstat(path)
  if (!status.isDirectory()) throw new HoldfastError('mount_refused', `${path} is in the way: it is no directory`, { path })
  await chown(path, uid, uid)
  await chmod(path, mode)
}

/** `nobody`: not there, or left half made by a crash. */
async function ownerOf(path: string, uid: number): Promise<'session' | 'nobody'> {
  const status = await lstat(path).catch(ignoreMissing)
  if (status === undefined || status.uid === 0) return 'nobody'
  if (status.uid !== uid) throw new HoldfastError('mount_refused', `${path} belongs to the uid ${status.uid} and not to ${uid}`, { path })
  return 'session'
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function ignoreExisting(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error
}
