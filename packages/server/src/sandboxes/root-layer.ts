/**
 * The disk below a writable root: what a sandbox changes in `/usr`, `/opt`, `/var` and, as root, `/etc` is kept here and ends with it.
 *
 * `<stateDir>/sandboxes/<name>/root/` holds a directory for each. `opt` and `var` are shown as they are. The others are overlays over
 * files of the host or of an image: `upper` has the changes, `work` is the kernel's. `engine` leads to the layer that an engine keeps of
 * everything else in a container. All of it is removed with the sandbox's other state.
 */
import { chmod, chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'

export function rootLayerPath(stateDir: string, name: string): string {
  return join(stateDir, 'sandboxes', name, 'root')
}

/** Makes the directory for what this user of the host changes in an image, and returns it. */
export async function makeImageChanges(layer: string, owner: number): Promise<string> {
  const changes = join(layer, 'overlays', 'image')
  const upper = join(changes, 'upper')
  for (const path of [join(changes, 'work'), upper]) await mkdir(path, { recursive: true, mode: 0o700 })
  // The top of an overlay has the owner and the mode of its upper directory; what the image does not have is made there.
  await chmod(upper, 0o755)
  await chown(upper, owner, owner)
  return changes
}

/** Files of the host below `/var` that a sandbox with `user: root` sees: the database of packages. */
export const PACKAGE_DATABASE = ['/var/lib/dpkg', '/var/lib/apt/lists'] as const

/** A directory that counts towards the session's bound. */
export interface LayerPlace {
  readonly directory: string
  /** Where the sandbox shows it; with `+` as the directory, an overlay of the sandbox that shows the place before it. */
  readonly inside: string
}

const OVERLAYS: readonly LayerPlace[] = ['/usr', '/etc', ...PACKAGE_DATABASE].map((inside) => ({ directory: '+', inside }))

/** The places of a session with a writable root in this sandbox: these first ones, what it removed and holds open, and the layer. */
export function withRootLayer([first, ...others]: readonly LayerPlace[], stateDir: string, name: string): readonly LayerPlace[] {
  const layer = rootLayerPath(stateDir, name)
  return [
    ...(first === undefined ? [] : [first, ...OVERLAYS, ...others]),
    { directory: join(layer, 'opt'), inside: '/opt' },
    { directory: join(layer, 'var'), inside: '/var' },
    { directory: join(layer, 'overlays'), inside: '/.no-such-directory' },
    { directory: join(layer, 'engine'), inside: '/.no-such-directory' },
  ]
}
