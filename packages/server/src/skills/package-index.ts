/**
 * What packages a tenant has, read from the disk each time: the disk is the truth.
 *
 * Stands beside the flow.
 */
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import { openBelow, withDirectory } from './directory-handle.ts'
import { findPackages } from './discovery.ts'
import { readPackage } from './read-package.ts'
import type { ReadPackage } from './read-package.ts'
import { checkSkillName, noSuchSkill } from './skill.ts'

export const LIST_DEPTH = 6
const MAXIMUM_LISTED_BYTES = 16 * 1024 * 1024
/** What is not whole yet, and what is on its way out. */
export const MAKING = '.making'

export interface IndexedPackage extends ReadPackage {
  /** From the root. */
  readonly names: readonly string[]
}

/** Each is given the tenant's root, open. */
export interface PackageIndex {
  /** The newest first. One that cannot be read, or has the name of a newer one, is left out and logged. */
  all(root: FileHandle): Promise<readonly IndexedPackage[]>
  find(root: FileHandle, name: string): Promise<IndexedPackage | null>
  /** Throws `not_found`. */
  named(root: FileHandle, name: string): Promise<IndexedPackage>
  /** Throws for a name that is taken or cannot be one. */
  checkFree(root: FileHandle, name: string): Promise<void>
  readAt(root: FileHandle, names: readonly string[]): Promise<ReadPackage>
}

export function createPackageIndex({ directory, log }: { readonly directory: string; readonly log: Log }): PackageIndex {
  const readAt: PackageIndex['readAt'] = (root, names) =>
    withDirectory(openBelow(root, names), (opened) => readPackage(opened, join(directory, ...names), names.at(-1) ?? ''))

  async function readOrSkip(root: FileHandle, names: readonly string[]): Promise<ReadPackage | null> {
    try {
      return await readAt(root, names)
    } catch (error) {
      if (!isHoldfastError(error) && !hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) throw error
      log.warn('skill-skipped', { directory: join(directory, ...names), reason: errorText(error) })
      return null
    }
  }

  async function all(root: FileHandle): Promise<readonly IndexedPackage[]> {
    const { packages, isTruncated } = await findPackages(root, { depth: LIST_DEPTH, skip: [MAKING], isTopIncluded: false })
    if (isTruncated) log.warn('skills-not-all-listed', { directory, found: packages.length })
    const read: IndexedPackage[] = []
    let bytes = 0
    for (const names of packages) {
      const found = await readOrSkip(root, names)
      if (found === null) continue
      bytes += Buffer.byteLength(found.text)
      if (bytes > MAXIMUM_LISTED_BYTES) {
        log.warn('skills-not-all-listed', { directory, found: packages.length, listed: read.length })
        break
      }
      read.push({ ...found, names })
    }
    const byName = Map.groupBy(
      read.toSorted((one, other) => other.skill.updatedAt.getTime() - one.skill.updatedAt.getTime()),
      ({ skill }) => skill.name,
    )
    return [...byName.values()].flatMap(([newest, ...older]) => {
      for (const { skill } of older)
        log.warn('skill-skipped', { directory: skill.packageRoot, reason: `there is a newer skill ${skill.name}` })
      return newest === undefined ? [] : [newest]
    })
  }

  const find: PackageIndex['find'] = async (root, name) => (await all(root)).find(({ skill }) => skill.name === name) ?? null

  return {
    all,
    find,
    readAt,
    async named(root, name) {
      const found = await find(root, name)
      if (found === null) throw noSuchSkill(name)
      return found
    },
    async checkFree(root, name) {
      if ((await find(root, checkSkillName(name))) !== null)
        throw new HoldfastError('name_taken', `there is a skill '${name}' already`, { name })
    },
  }
}
