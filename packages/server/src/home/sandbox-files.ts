/**
 * The server's hands on files that sandboxes made, in a process of its own: the server's loop is free however large a tree is, and the
 * process has rights that the server may lack.
 *
 * The guest's binary does the work: it walks trees that are deeper than any path and follows no link. Files belong to the users of
 * sandboxes. Root may touch them as it is. Any other server may only as root of a user namespace that holds its subordinate ids, and
 * the launcher makes that for each run. Nothing else of the server reads, changes or removes what a sandbox made.
 */
import { execFile } from 'node:child_process'
import { access, chmod, chown, constants, lstat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from './error-code.ts'
import { randomId } from './random-id.ts'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface SandboxFiles {
  /** Whether files can belong to another user than the server's. */
  readonly canGive: boolean
  /** Everything at and below the path belongs to this user from now on. A crash leaves part of it to the user before: give it again. */
  give(path: string, owner: Owner): Promise<void>
  /** The same for a directory of the server's own, which root gives without its content and without a process. */
  giveOwn(path: string, owner: Owner): Promise<void>
  /** The same for a tree that the server made for this user; nothing where it could make it the user's from the start. */
  settle(path: string, owner: Owner): Promise<void>
  /** Whatever is there is the server's to change and remove; nothing there is fine. */
  takeBack(path: string): Promise<void>
  /** Before a directory of the server is given away in which the server goes on to work. */
  open(path: string): Promise<void>
  /** A directory of this name that a mount can be made on, where the server may not look; what else has the name is set aside. */
  makePoint(directory: string, name: string, owner: Owner): Promise<void>
  /** What the guest's `measure` prints. */
  measure(figures: readonly string[], places: readonly string[], signal: AbortSignal): Promise<string>
}

export interface SandboxFilesNeeds {
  readonly guestPath: string
  readonly launcherPath: string
  readonly isRoot: boolean
  /** How the launcher becomes root over the users of sandboxes; `null`: it cannot, or need not. */
  readonly subordinate: { argumentsFor(how: 'enter' | 'beside'): readonly string[] } | null
}

/** Some ten million entries. */
const LONGEST_MS = 60_000
/** Where the launcher puts the namespace: `FD_USERS` in `guest/launcher/subordinate.c`. */
const USERS_DESCRIPTOR = '3'
const NO_USERS = '-1'

const run = promisify(execFile)

export function createSandboxFiles({ guestPath, launcherPath, isRoot, subordinate }: SandboxFilesNeeds): SandboxFiles {
  async function runGuest(how: 'enter' | 'beside', argv: readonly string[], signal?: AbortSignal): Promise<string> {
    const [program, values] =
      subordinate === null ? [guestPath, argv] : [launcherPath, [...subordinate.argumentsFor(how), guestPath, ...argv]]
    const options = { env: {}, timeout: LONGEST_MS, killSignal: 'SIGKILL', maxBuffer: 4096, encoding: 'utf8' } as const
    return (await run(program, values, signal === undefined ? options : { ...options, signal })).stdout
  }

  const [ownUid, ownGid] = [process.getuid?.(), process.getgid?.()]

  /** In the namespace the server's own ids are 0, and all others are what they are. */
  async function give(path: string, { uid, gid }: Owner): Promise<void> {
    if (!isRoot && subordinate === null) return assertOwn(path)
    const inside = isRoot || uid !== ownUid ? { uid, gid } : { uid: 0, gid: 0 }
    await runGuest('enter', ['give', path, String(inside.uid), String(inside.gid)])
  }

  return {
    canGive: isRoot || subordinate !== null,
    give,
    giveOwn: (path, owner) => (isRoot ? chown(path, owner.uid, owner.gid) : give(path, owner)),
    async settle(path, owner) {
      if (!isRoot && subordinate !== null && owner.uid !== ownUid) await give(path, owner)
    },
    async takeBack(path) {
      if (subordinate !== null && ownUid !== undefined && ownGid !== undefined && (await isThere(path)))
        await give(path, { uid: ownUid, gid: ownGid })
    },
    async open(path) {
      if (subordinate !== null && (await lstat(path)).uid === ownUid) await chmod(path, 0o777)
    },
    async makePoint(directory, name, { uid, gid }) {
      if (subordinate !== null && uid !== ownUid)
        await runGuest('enter', ['point', directory, name, `${name}-${randomId('old')}`, String(uid), String(gid)])
    },
    measure: (figures, places, signal) =>
      runGuest('beside', ['measure', ...figures, subordinate === null ? NO_USERS : USERS_DESCRIPTOR, ...places], signal),
  }
}

/** Its account had subordinate ids when these files were given away, and has them no longer. */
async function assertOwn(path: string): Promise<void> {
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    const { uid } = await lstat(path)
    throw new HoldfastError(
      'session_unavailable',
      `the files of this session belong to uid ${uid}, which the server cannot use; give its account the subordinate ids back that it had in /etc/subuid and /etc/subgid`,
      {},
      { cause },
    )
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return false
    throw error
  }
}
