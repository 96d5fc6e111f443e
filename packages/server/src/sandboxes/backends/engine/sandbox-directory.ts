/**
 * The directory that a sandbox and the server share: the guest's socket lies in it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * `<stateDir>/sandboxes/<name>/<kind>` is shown inside as the socket directory; its name tells which backend made it, so
 * that one half made is found by the right one. Its parent is closed to everybody but the server.
 */
import { chmod, chown, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import type { BackendKind, BackendNeeds } from '../../backend.ts'
import { rootLayerPath } from '../../root-layer.ts'
import { isSandboxName } from '../../sandbox-name.ts'
import { isServerRoot } from '../../sandbox-user.ts'

import { SOCKET_NAME } from './container-plan.ts'

const HOSTS_NAME = 'hosts'
const HOSTS = '127.0.0.1\tlocalhost sandbox\n::1\tlocalhost sandbox\n'

export interface SandboxDirectories {
  path(name: string): string
  /** Names that hold inside every sandbox, and none of the host's. */
  hostsPath(name: string): string
  /** Throws `invalid_request` when the name is taken, and then touches nothing. */
  make(name: string): Promise<string>
  /** Before a start with `user: root`: the guest has no right to what is root's on the host. */
  openToGuest(name: string, guest: number): Promise<void>
  /** After it: root inside can then neither replace the socket nor connect to it, because its owner is nobody in there. */
  closeToCommands(name: string): Promise<void>
  /** The changes of a writable root, where the bound of the session looks for them; an engine that keeps them elsewhere names no directory. */
  showLayer(name: string, upper: string | undefined): Promise<void>
  remove(name: string): Promise<void>
  /** Names with a directory of this backend, whether or not a container came of it. */
  list(): Promise<readonly string[]>
}

export function sandboxDirectories(kind: BackendKind, needs: BackendNeeds): SandboxDirectories {
  const root = join(needs.stateDir, 'sandboxes')

  async function isOurs(name: string): Promise<boolean> {
    const entries = await readdir(join(root, name)).catch(ignoreMissing)
    // One that names no backend is what a crash right after its making, or amid its removal, leaves; any backend may clear it.
    return entries !== undefined && (entries.every((entry) => entry === HOSTS_NAME) || entries.includes(kind))
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
      await writeFile(join(root, name, HOSTS_NAME), HOSTS, { mode: 0o644 })
      // The container's root is then another user than the server and needs a way in; the closed parent keeps others out.
      if (!isServerRoot()) await chmod(path, 0o777)
      return path
    },
    openToGuest: (name, guest) => chown(join(root, name, kind), guest, guest),
    async closeToCommands(name) {
      const path = join(root, name, kind)
      await chown(path, 0, 0)
      await chmod(path, 0o755)
      await chown(join(path, SOCKET_NAME), 0, 0)
      await chmod(join(path, SOCKET_NAME), 0o700)
    },
    async showLayer(name, upper) {
      if (upper === undefined || !upper.startsWith('/')) return
      const layer = rootLayerPath(needs.stateDir, name)
      await mkdir(layer, { mode: 0o700 })
      await symlink(upper, join(layer, 'overlays'))
    },
    remove: (name) => rm(join(root, name), { recursive: true, force: true }),
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
