/**
 * Finds the packages below a directory: breadth first, in the order of names, through no link, within bounds.
 *
 * Stands beside the flow.
 *
 * What lies in a package is the package's own: nothing below one is looked at.
 */
import type { FileHandle } from 'node:fs/promises'
import { hasErrorCode } from '../home/error-code.ts'
import { entriesOf, openBelow, withDirectory } from './directory-handle.ts'

export const MAXIMUM_PACKAGES = 1_000
export const MAXIMUM_SCANNED_ENTRIES = 10_000
/** The first that is there. */
export const ENTRY_FILES = ['SKILL.md', 'skill.md'] as const

export interface DiscoveryWish {
  /** How many directories deep; 0 looks at the top alone. */
  readonly depth: number
  /** Names directly below the top that are not looked into. */
  readonly skip?: readonly string[]
  /** Whether the top may be a package itself. */
  readonly isTopIncluded: boolean
}

export interface Discovery {
  /** The names that lead from the top to each. */
  readonly packages: readonly (readonly string[])[]
  /** A bound was met; there may be more. */
  readonly isTruncated: boolean
}

export async function findPackages(top: FileHandle, { depth, skip = [], isTopIncluded }: DiscoveryWish): Promise<Discovery> {
  const packages: (readonly string[])[] = []
  let scanned = 0
  let level: (readonly string[])[] = [[]]
  for (let at = 0; at <= depth && level.length > 0; at += 1) {
    const next: (readonly string[])[] = []
    for (const names of level) {
      const found = await lookInto(top, names, MAXIMUM_SCANNED_ENTRIES - scanned)
      if (found === null) continue
      scanned += found.count
      if (found.isPackage && (at > 0 || isTopIncluded)) packages.push(names)
      else next.push(...found.directories.filter((name) => at > 0 || !skip.includes(name)).map((name) => [...names, name]))
      const isFull = packages.length === MAXIMUM_PACKAGES && (next.length > 0 || names !== level.at(-1))
      if (found.isTruncated || isFull) return { packages, isTruncated: true }
    }
    level = next
  }
  return { packages, isTruncated: false }
}

/** `null` for what went away, or may not be looked into. */
async function lookInto(top: FileHandle, names: readonly string[], limit: number) {
  try {
    return await withDirectory(openBelow(top, names), async (directory) => {
      const { entries, isTruncated } = await entriesOf(directory, limit)
      return {
        isPackage: entries.some((entry) => entry.isFile() && ENTRY_FILES.some((name) => name === entry.name)),
        directories: entries.filter((entry) => entry.isDirectory()).map(({ name }) => name),
        count: entries.length,
        isTruncated,
      }
    })
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return null
    throw error
  }
}
