/**
 * The directory of the host that sessions work in when they name none, where the operator set one.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * It is made when it is first needed, one component after the other below an allowed root. Whoever can write to that root may plant
 * links in it, so none is followed: what lies at the path must be a plain directory there.
 */
import { constants } from 'node:fs'
import { mkdir, open, realpath } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { isServerRoot } from '../sandboxes/sandbox-user.ts'
import type { SandboxUser } from '../sandboxes/spec.ts'
import { inTenant } from './tenant-paths.ts'

export interface DefaultWorkspace {
  of(tenantId: string): string
  /** Safe to repeat. Throws `mount_refused`. */
  make(tenantId: string): Promise<void>
}

export interface DefaultWorkspaceNeeds {
  /** May hold `{tenant}`. */
  readonly directory: string
  readonly allowedRoots: readonly string[]
  readonly user: SandboxUser
}

/** Throws `config_invalid` when the directory lies below none of the roots. */
export function defaultWorkspace({ directory, allowedRoots, user }: DefaultWorkspaceNeeds): DefaultWorkspace {
  // Compared as they are written: two that hold {tenant} hold the same one.
  if (!allowedRoots.some((root) => isBelow(directory, root)))
    throw new HoldfastError(
      'config_invalid',
      `default_workspace ${directory} is not below an allowed root (${allowedRoots.join(', ') || 'there is none'}); add one to mounts.allowed_roots`,
      { key: 'default_workspace' },
    )
  return {
    of: (tenantId) => inTenant(directory, tenantId),
    async make(tenantId) {
      const path = inTenant(directory, tenantId)
      const root = allowedRoots.map((each) => inTenant(each, tenantId)).find((each) => isBelow(path, each))
      if (root === undefined) throw refusal(path, 'it is not below an allowed root')
      const isRootNew = (await mkdir(root, { recursive: true, mode: 0o755 })) !== undefined
      const last = await descend(await realpath(root), relative(root, path).split(sep).filter(Boolean))
      try {
        if ((last.isNew || (isRootNew && path === root)) && isServerRoot()) await last.handle.chown(user.uid, user.gid)
      } finally {
        await last.handle.close()
      }
    },
  }
}

interface Place {
  readonly handle: FileHandle
  readonly isNew: boolean
}

/** The directory of these names below another, each made if it is missing. */
async function descend(root: string, names: readonly string[]): Promise<Place> {
  let place: Place = { handle: await openDirectory(root), isNew: false }
  for (const name of names) {
    const above = place.handle
    // By its handle: whatever is put in the place of its path meanwhile, this is the directory that was looked at.
    const path = `/proc/self/fd/${above.fd}/${name}`
    try {
      const isNew = await makeDirectory(path)
      place = { handle: await openDirectory(path), isNew }
    } catch (error) {
      throw refusal(join(root, ...names), `${name} could not be made or opened as a directory`, error)
    } finally {
      await above.close()
    }
  }
  return place
}

function openDirectory(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
}

async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o755 })
    return true
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false
    throw error
  }
}

function refusal(path: string, why: string, cause?: unknown): HoldfastError {
  return new HoldfastError(
    'mount_refused',
    `'${path}' cannot be the default workspace: ${why}`,
    { path },
    cause === undefined ? {} : { cause },
  )
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path)
  return !isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`)
}
