/**
 * A host of names only, for tests of decisions: what is a file, what is a directory, and what may be shown.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { HostLook } from '../host-look.ts'

/** Paths of files; those that end in `/` are directories. Directories above are there too. `asked` hears every question. */
export function fakeHost(paths: readonly string[], asked: (path: string) => void = () => undefined): HostLook {
  const files = new Set(paths.filter((path) => !path.endsWith('/')))
  const directories = new Set(['/'])
  for (const path of paths)
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) directories.add(path.slice(0, at))
  const kindOf = (path: string) => (files.has(path) ? 'file' : directories.has(path) ? 'directory' : null)
  return {
    async kind(path) {
      asked(path)
      return kindOf(path)
    },
    async settle(path) {
      asked(path)
      if (kindOf(path) === null) throw new HoldfastError('mount_refused', `'${path}' cannot be mounted: it is not under an allowed root`)
      return `/real${path}`
    },
  }
}
