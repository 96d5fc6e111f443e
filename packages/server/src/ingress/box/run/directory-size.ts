/**
 * What a directory of the host holds: file sizes and counts, as a Box client's storage page shows them.
 *
 * Sandboxes write these directories: links are counted by their own size and never followed, and depth and entries are bounded.
 */
import { lstat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { hasErrorCode } from '../../../home/error-code.ts'
import { entriesOf, inside, openBelow, openDirectory, withDirectory } from '../../../skills/directory-handle.ts'

const MAXIMUM_ENTRIES = 200_000
const MAXIMUM_DEPTH = 64

export interface DirectorySize {
  readonly exists: boolean
  readonly size_bytes: number
  /** Everything that is not a directory. */
  readonly file_count: number
  /** What could not be read, or lay beyond the bounds. */
  readonly error_count: number
}

export const NOTHING: DirectorySize = { exists: false, size_bytes: 0, file_count: 0, error_count: 0 }

export async function directorySize(path: string): Promise<DirectorySize> {
  const sum = { exists: true, size_bytes: 0, file_count: 0, error_count: 0 }
  let left = MAXIMUM_ENTRIES

  async function walk(directory: FileHandle, depth: number): Promise<void> {
    const { entries, isTruncated } = await entriesOf(directory, left)
    left -= entries.length
    if (isTruncated) sum.error_count += 1
    for (const entry of entries) {
      try {
        if (!entry.isDirectory()) {
          sum.size_bytes += (await lstat(inside(directory, entry.name))).size
          sum.file_count += 1
        } else if (depth === MAXIMUM_DEPTH) sum.error_count += 1
        else await withDirectory(openBelow(directory, [entry.name]), (below) => walk(below, depth + 1))
      } catch (error) {
        // Decision: one that was removed meanwhile is not there, and one that cannot be read is counted as that.
        if (!hasErrorCode(error, 'ENOENT')) sum.error_count += 1
      }
    }
  }

  try {
    await withDirectory(openDirectory(path), (top) => walk(top, 1))
    return sum
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return NOTHING
    return { ...NOTHING, exists: true, error_count: 1 }
  }
}

export function addSizes(sizes: readonly DirectorySize[]): DirectorySize {
  return sizes.reduce(
    (sum, each) => ({
      exists: sum.exists || each.exists,
      size_bytes: sum.size_bytes + each.size_bytes,
      file_count: sum.file_count + each.file_count,
      error_count: sum.error_count + each.error_count,
    }),
    NOTHING,
  )
}
