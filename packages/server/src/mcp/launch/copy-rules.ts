/**
 * Rules of the copy of a project: what is left out, what stays in the box, and which links may come along.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { posix } from 'node:path'
import { isWithin } from './host-paths.ts'

/** Histories and caches, wherever they are. */
const SKIPPED = new Set([
  ...['.git', '.hg', '.svn', '.bzr', '.jj', 'CVS'],
  ...['__pycache__', '.mypy_cache', '.pytest_cache', '.ruff_cache', '.tox', '.nox', '.uv-cache', '.eggs', '.ipynb_checkpoints'],
  ...['.npm', '.turbo', '.parcel-cache', '.nyc_output', '.DS_Store'],
])
/** Made in the box, for the box. */
const INSTALLED = 'node_modules'
/** At the top of the copy these are the box's own, and stay when the copy is made anew. */
export const KEPT_NAMES = ['.venv', 'venv', 'env', '.cache', '.tmp', INSTALLED] as const
const SCRATCH: readonly string[] = ['.cache', '.tmp']

/** By its name alone. */
export function isLeftOut(name: string, depth: number): boolean {
  return SKIPPED.has(name) || name === INSTALLED || name.endsWith('.pyc') || (depth === 0 && SCRATCH.includes(name))
}

/** As it is, or from the link's own directory where it was absolute; `null` when it leaves the project. */
export function linkTarget(names: readonly string[], target: string, source: string): string | null {
  const home = posix.join(source, ...names.slice(0, -1))
  const path = posix.resolve(home, target)
  if (!isWithin(path, source)) return null
  return posix.isAbsolute(target) ? posix.relative(home, path) || '.' : target
}
