/**
 * A package being written: files that come one by one, from an archive or from a sandbox, into a fresh directory of the server's.
 *
 * Stands beside the flow.
 *
 * Holds always: nothing is written outside of the directory, no link is made, no name comes twice or as both a file and a directory, and
 * no more is written than the bounds say, whatever the sender announced.
 */
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { namesOf } from './relative-path.ts'
import { shortened } from './skill.ts'

export const MAXIMUM_TREE_ENTRIES = 512
export const MAXIMUM_FILE_BYTES = 16 * 1024 * 1024
export const MAXIMUM_TREE_BYTES = 64 * 1024 * 1024

export interface PackageTree {
  directory(path: string): Promise<void>
  file(path: string, isExecutable: boolean, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>
}

/** `top` is there, is empty, and nobody else writes in it. */
export function createPackageTree(top: string): PackageTree {
  /** What each path is; a directory is also there because something lies in it. */
  const kinds = new Map<string, 'file' | 'directory' | 'implied'>()
  let entries = 0
  let total = 0

  function take(path: string, kind: 'file' | 'directory'): string {
    entries += 1
    if (entries > MAXIMUM_TREE_ENTRIES) throw tooMuch(`a package has at most ${MAXIMUM_TREE_ENTRIES} entries`)
    const names = namesOf(path, 'entry')
    if (names.length === 0) throw refused(path, 'has no name')
    for (let depth = 1; depth < names.length; depth += 1) {
      const above = names.slice(0, depth).join('/')
      if (kinds.get(above) === 'file') throw refused(path, `lies in '${shortened(above)}', which is a file`)
      if (!kinds.has(above)) kinds.set(above, 'implied')
    }
    const whole = names.join('/')
    const known = kinds.get(whole)
    if (known !== undefined && !(known === 'implied' && kind === 'directory')) throw refused(path, 'is there twice')
    kinds.set(whole, kind)
    return whole
  }

  return {
    async directory(path) {
      await mkdir(join(top, take(path, 'directory')), { recursive: true, mode: 0o755 })
    },
    async file(path, isExecutable, content) {
      const place = join(top, take(path, 'file'))
      await mkdir(join(place, '..'), { recursive: true, mode: 0o755 })
      const file = await open(place, 'wx', isExecutable ? 0o755 : 0o644)
      try {
        let size = 0
        for await (const chunk of content) {
          size += chunk.length
          total += chunk.length
          if (size > MAXIMUM_FILE_BYTES) throw tooMuch(`'${shortened(path)}' is larger than ${MAXIMUM_FILE_BYTES} bytes (16 MiB)`)
          if (total > MAXIMUM_TREE_BYTES) throw tooMuch(`the files are larger than ${MAXIMUM_TREE_BYTES} bytes (64 MiB) together`)
          await file.writeFile(chunk)
        }
        // Whatever the umask took away.
        await file.chmod(isExecutable ? 0o755 : 0o644)
      } finally {
        await file.close()
      }
    },
  }
}

function refused(path: string, why: string): HoldfastError {
  return new HoldfastError('invalid_request', `entry: '${shortened(path)}' ${why}`)
}

function tooMuch(sentence: string): HoldfastError {
  return new HoldfastError('payload_too_large', sentence)
}
