/**
 * The directory of a tenant's skills, and the place in it where things are made before they are whole.
 *
 * Stands beside the flow.
 */
import { lstat, mkdir, realpath } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { randomId } from '../home/random-id.ts'
import { removeTree } from '../home/remove-tree.ts'
import { openDirectory, withDirectory } from './directory-handle.ts'
import { MAKING } from './package-index.ts'

export interface StoreRoot {
  /** The server's own, and no package. */
  readonly making: string
  /** `act` with the root open, which is made if need be. Throws `store_full` when the disk is. */
  open<T>(act: (root: FileHandle) => Promise<T>): Promise<T>
  /** `act` with a directory of its own, whose remains are removed. */
  withDraft<T>(act: (draft: string) => Promise<T>): Promise<T>
  /** Throws `name_taken` when the root has something of this name. */
  checkVacant(name: string): Promise<void>
  /** The names that lead to a path of the host that lies in the root; throws `invalid_request` for any other. */
  namesOf(path: string, field: string): Promise<readonly string[]>
}

export function createStoreRoot(directory: string): StoreRoot {
  const making = join(directory, MAKING)
  return {
    making,
    async open(act) {
      await mkdir(making, { recursive: true, mode: 0o700 }).catch(told)
      return withDirectory(openDirectory(directory), act).catch(told)
    },
    async withDraft(act) {
      const draft = join(making, randomId('draft'))
      try {
        await mkdir(making, { recursive: true, mode: 0o700 })
        await mkdir(draft, { mode: 0o755 })
        return await act(draft)
      } catch (error) {
        return told(error)
      } finally {
        await removeTree(draft)
      }
    },
    async checkVacant(name) {
      const status = await lstat(join(directory, name)).catch((error: unknown) => {
        if (hasErrorCode(error, 'ENOENT')) return null
        throw error
      })
      if (status !== null) throw new HoldfastError('name_taken', `the skills already have a directory '${name}'`, { name })
    },
    async namesOf(path, field) {
      const refuse = (): never => {
        throw new HoldfastError('invalid_request', `${field}: must be a directory among the skills of this tenant`)
      }
      if (path.includes('\0')) refuse()
      const asked = isAbsolute(path) ? path : join(directory, path)
      const [top, place] = await Promise.all([realpath(directory), realpath(asked).catch(refuse)])
      if (place !== top && !place.startsWith(`${top}${sep}`)) refuse()
      const names = relative(top, place)
        .split(sep)
        .filter((name) => name !== '')
      return names[0] === MAKING ? refuse() : names
    },
  }
}

function told(error: unknown): never {
  if (!hasErrorCode(error, 'ENOSPC', 'EDQUOT')) throw error
  throw new HoldfastError('store_full', 'the disk that skills are kept on is full', {}, { cause: error })
}
