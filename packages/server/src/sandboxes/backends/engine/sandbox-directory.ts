/**
 * The directory that a sandbox and the server share: the guest's socket lies in it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * `<stateDir>/sandboxes/<name>/<kind>` is shown inside as the socket directory; its name tells which backend made it, so
 * that one half made is found by the right one. Its parent is closed to everybody but the server.
 */
import { access, chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { BackendKind, BackendNeeds } from '../../backend.ts'
import { removeTree } from '../../../home/remove-tree.ts'
import { makeImageChanges, rootLayerPath } from '../../root-layer.ts'
import { isSandboxName } from '../../sandbox-name.ts'
import { isServerRoot } from '../../sandbox-user.ts'

const HOSTS_NAME = 'hosts'
const HALF_MADE_NAME = 'half-made'
const HOSTS = '127.0.0.1\tlocalhost sandbox\n::1\tlocalhost sandbox\n'

export interface SandboxDirectories {
  path(name: string): string
  /** Names that hold inside every sandbox, and none of the host's. */
  hostsPath(name: string): string
  /** Throws `invalid_request` when the name is taken, and then touches nothing. */
  make(name: string): Promise<string>
  /** The changes of a writable root, where the bound of the session looks for them; an engine that keeps them elsewhere names no directory. */
  showLayer(name: string, upper: string | undefined): Promise<void>
  /** Makes the directory for what this user changes in the writable places of the image. */
  makeChanges(name: string, owner: number): Promise<string>
  /** Nothing but the guest has run in the sandbox yet, and not everything that confines it may be in place. */
  isHalfMade(name: string): Promise<boolean>
  finish(name: string): Promise<void>
  remove(name: string): Promise<void>
  /** Names with a directory of this backend, whether or not a container came of it. */
  list(): Promise<readonly string[]>
}

export function sandboxDirectories(kind: BackendKind, needs: BackendNeeds): SandboxDirectories {
  const root = join(needs.stateDir, 'sandboxes')

  async function isOurs(name: string): Promise<boolean> {
    const entries = await readdir(join(root, name)).catch(ignoreMissing)
    // One that names no backend is what a crash right after its making, or amid its removal, leaves; any backend may clear it.
    return entries !== undefined && (entries.every((entry) => entry === HOSTS_NAME || entry === HALF_MADE_NAME) || entries.includes(kind))
  }

  return {
    path: (name) => join(root, name, kind),
    hostsPath: (name) => join(root, name, HOSTS_NAME),
    async make(name) {
      await mkdir(root, { recursive: true, mode: 0o700 })
      await mkdir(join(root, name), { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') throw new HoldfastError('invalid_request', `a sandbox named ${name} exists already`, { name })
        throw error
      })
      const path = join(root, name, kind)
      await mkdir(path, { mode: 0o700 })
      await writeFile(join(root, name, HALF_MADE_NAME), '')
      await writeFile(join(root, name, HOSTS_NAME), HOSTS, { mode: 0o644 })
      // The container's root is then another user than the server and needs a way in; the closed parent keeps others out.
      if (!isServerRoot()) await chmod(path, 0o777)
      return path
    },
    async showLayer(name, upper) {
      if (upper === undefined || !upper.startsWith('/')) return
      const layer = rootLayerPath(needs.stateDir, name)
      await mkdir(layer, { recursive: true, mode: 0o700 })
      await symlink(upper, join(layer, 'engine'))
    },
    makeChanges: (name, owner) => makeImageChanges(rootLayerPath(needs.stateDir, name), owner),
    isHalfMade: (name) =>
      access(join(root, name, HALF_MADE_NAME)).then(
        () => true,
        () => false,
      ),
    finish: (name) => rm(join(root, name, HALF_MADE_NAME)),
    async remove(name) {
      // First, so that a removal that is cut off leaves what tells whose it is. It is filled by programs of the sandbox: with trees that
      // are deeper than any path.
      await removeTree(rootLayerPath(needs.stateDir, name))
      // A creation of the same name may still be adding to it, until it finds that it was destroyed.
      await rm(join(root, name), { recursive: true, force: true, maxRetries: 10 })
    },
    async list() {
      const names = (await readdir(root).catch(ignoreMissing)) ?? []
      const ours = await Promise.all(names.filter(isSandboxName).map(async (name) => ((await isOurs(name)) ? name : null)))
      return ours.filter((name) => name !== null)
    },
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}
