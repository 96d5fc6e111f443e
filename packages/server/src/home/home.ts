/**
 * The server's home directory: its identity and the places of its state.
 *
 * `server-id` marks everything this server makes (containers, cgroups, directories), so that several servers share an
 * engine without touching each other's sandboxes.
 */
import { accessSync, chmodSync, constants, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from './error-code.ts'
import { randomId } from './random-id.ts'

export interface Home {
  readonly path: string
  readonly serverId: string
  /** Given to the backends, which keep `<stateDir>/sandboxes/<name>` below it. */
  readonly stateDir: string
  readonly workspacesDir: string
  /** Holds one directory per packing key, each with the places of the sessions that share sandboxes. */
  readonly packsDir: string
  /** What tenants have of skills, and what sessions see of them. */
  readonly skillsDir: string
  /** What long-running or talkative executions printed. */
  readonly outputDir: string
}

/** Makes what is missing. Only the owner may look inside: keys and workspaces lie here. */
export function openHome(path: string): Home {
  makePrivateDirectory(path)
  const [workspacesDir, packsDir] = [join(path, 'workspaces'), join(path, 'packs')]
  const [outputDir, skillsDir] = [join(path, 'output'), join(path, 'skills')]
  for (const directory of [workspacesDir, packsDir, outputDir, skillsDir]) makePrivateDirectory(directory)
  return { path, stateDir: path, workspacesDir, packsDir, outputDir, skillsDir, serverId: readOrMakeServerId(join(path, 'server-id')) }
}

const PRIVATE = 0o700
const REASONS: Readonly<Record<string, string>> = {
  EROFS: 'its file system is mounted read-only',
  EACCES: 'this user may not write to it',
  EPERM: 'this user may not change it',
  ENOSPC: 'no space is left on its disk',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'it is not a directory',
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return ('code' in error ? REASONS[String(error.code)] : undefined) ?? error.message
}

/** Private to its owner, and writable. */
export function makePrivateDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: PRIVATE })
    if ((statSync(path).mode & 0o777) !== PRIVATE) chmodSync(path, PRIVATE)
    accessSync(path, constants.W_OK)
  } catch (cause) {
    throw new HoldfastError('config_invalid', `the directory ${path} cannot be used: ${reasonOf(cause)}`, { path }, { cause })
  }
}

function readOrMakeServerId(path: string): string {
  const stored = readIfPresent(path)
  if (stored !== null && /^srv_[0-9a-z]{16}$/.test(stored)) return stored
  if (stored !== null)
    throw new HoldfastError('config_invalid', `${path} does not hold a server id; remove it only if no sandbox of this server is left`, {
      path,
    })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${randomId('srv')}\n`, { mode: 0o600 })
  try {
    // Linked into place: a crash never leaves half an id, and of two that start at once one wins and both read its id.
    linkSync(draft, path)
  } catch (error) {
    if (!hasErrorCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readOrMakeServerId(path)
}

function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null
    throw error
  }
}
