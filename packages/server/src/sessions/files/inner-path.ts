/**
 * Paths as callers write them → paths inside the sandbox.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Nothing is resolved here: `..` and links mean what they mean to the kernel inside, where no path leads out.
 */
import { HOME } from '@holdfast/protocol'
import type { Place } from '../insides.ts'

const WORKSPACE = '/workspace'

/** An absolute path as it is, `~` as the session's home, any other from the session's workspace on. A file named `~` is `./~`. */
export function innerPath({ inhabitant }: Pick<Place, 'inhabitant'>, path: string): string {
  if (path.startsWith('/')) return path
  if (path === '~' || path.startsWith('~/')) return `${inhabitant?.home ?? HOME}${path.slice(1)}`
  const workspace = inhabitant?.workspace ?? WORKSPACE
  const below = path.replace(/^(?:\.\/+)+/, '')
  return below === '' || below === '.' ? workspace : `${workspace}/${below}`
}

/** Where it lies, and its name there. `..` and `/` have none. */
export function splitPath(path: string): { readonly directory: string; readonly name: string } {
  const bare = path.replace(/(?<!\/)\/+$/, '')
  const slash = bare.lastIndexOf('/')
  return { directory: bare.slice(0, slash) || '/', name: bare.slice(slash + 1) }
}
