/**
 * Credential files inside a sandbox: `/dev/shm/holdfast-<session id>/<NAME>`, mode 0600, in a directory of mode 0700.
 *
 * `/dev/shm` is a tmpfs on every backend, so no value reaches a disk. In a packed sandbox all sessions can write there, so the directory
 * is used only if it belongs to the session's own user: a neighbour could have made one of the same name before.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { Entry, Inside } from '../../guest/inside.ts'
import type { Inhabitant } from '../executions/command.ts'

const ROOT = '/dev/shm'
const DIRECTORY_MODE = 0o700
const FILE_MODE = 0o600
/** A program can put a FIFO where the file was, and nobody reads from it. */
const WRITE_TIMEOUT_MS = 10_000

export interface CredentialFile {
  readonly name: string
  readonly value: Uint8Array
}

/** Where the files of one session are, and as whom they are written. */
export interface CredentialPlace {
  readonly inside: Inside
  readonly sessionId: string
  readonly inhabitant: Inhabitant | null
}

export function credentialPath(sessionId: string, name: string): string {
  return `${directoryOf(sessionId)}/${name}`
}

/** Throws `command_not_started` when the sandbox does not take them. Files that are there are replaced, each in one step. */
export async function writeCredentialFiles(place: CredentialPlace, files: readonly CredentialFile[]): Promise<void> {
  const { inside, sessionId, inhabitant } = place
  try {
    await makeDirectory(place)
    const signal = AbortSignal.timeout(WRITE_TIMEOUT_MS)
    const options = { ...userOf(inhabitant), mode: FILE_MODE, signal }
    await Promise.all(files.map(({ name, value }) => inside.files.write(credentialPath(sessionId, name), value, options)))
  } catch (cause) {
    if (isHoldfastError(cause) && cause.code !== 'file_operation_failed') throw cause
    const reason = isHoldfastError(cause) ? cause.message : 'it did not end in time'
    throw new HoldfastError(
      'command_not_started',
      `the session's credential files could not be written to ${ROOT}: ${reason}`,
      {},
      { cause },
    )
  }
}

/** Those of these names. */
export async function removeCredentialFiles({ inside, sessionId, inhabitant }: CredentialPlace, names: readonly string[]): Promise<void> {
  for (const name of names) await removeAll(inside, credentialPath(sessionId, name), inhabitant)
}

/** All of a session's, with their directory. */
export async function removeCredentialDirectory({ inside, sessionId, inhabitant }: CredentialPlace): Promise<void> {
  await removeAll(inside, directoryOf(sessionId), inhabitant)
}

async function makeDirectory({ inside, sessionId, inhabitant }: CredentialPlace): Promise<void> {
  const path = directoryOf(sessionId)
  const as = userOf(inhabitant)
  let found = await lookAt(inside, path, as)
  if (found === null) {
    await inside.files.mkdir(path, { ...as, parents: true, mode: DIRECTORY_MODE })
    found = await lookAt(inside, path, as)
  }
  const isOwn = inhabitant === null || found?.uid === inhabitant.uid
  if (found?.type !== 'directory' || !isOwn || found.mode !== DIRECTORY_MODE)
    throw new HoldfastError('command_not_started', `${path} is not a directory of mode 0700 that belongs to this session; remove it`, {
      path,
    })
}

async function lookAt(inside: Inside, path: string, as: { readonly uid?: number }): Promise<Entry | null> {
  return inside.files.stat(path, { ...as, follow: false }).catch((error: unknown) => {
    if (isHoldfastError(error, 'file_operation_failed') && error.details['errno'] === 'ENOENT') return null
    throw error
  })
}

/** Programs of the session can have closed their directories to themselves; its user can open them again. */
async function removeAll(inside: Inside, path: string, inhabitant: Inhabitant | null): Promise<void> {
  const as = userOf(inhabitant)
  const remove = () => inside.files.remove(path, { ...as, recursive: true, force: true })
  await remove().catch(async (error: unknown) => {
    if (!isHoldfastError(error, 'file_operation_failed')) throw error
    await inside.files.chmod(path, DIRECTORY_MODE, { ...as, recursive: true })
    await remove()
  })
}

function directoryOf(sessionId: string): string {
  return `${ROOT}/holdfast-${sessionId}`
}

function userOf(inhabitant: Inhabitant | null): { readonly uid?: number } {
  return inhabitant === null ? {} : { uid: inhabitant.uid }
}
