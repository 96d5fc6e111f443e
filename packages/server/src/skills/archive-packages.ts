/**
 * The packages in an unpacked archive: which there are, what they would be called here, and which of them are wanted.
 *
 * Stands beside the flow.
 */
import { join, posix } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { entriesOf, openBelow, openDirectory, withDirectory } from './directory-handle.ts'
import { findPackages } from './discovery.ts'
import { readPackage } from './read-package.ts'
import { namesOf } from './relative-path.ts'
import { shortened } from './skill.ts'
import type { Skill } from './skill.ts'

const ARCHIVE_DEPTH = 2
const FALLBACK_STEM = 'uploaded-skill'
const DEFAULT_SUFFIX = 'upload'
/** All together are a name that a skill may have. */
const MAXIMUM_TARGET_LENGTH = 60
const MAXIMUM_LEAF_LENGTH = 32
const MAXIMUM_SUFFIX_LENGTH = 12

export interface ArchiveWish {
  /** Of the archive, as its owner calls it. */
  readonly filename: string
  /** Only what lies in this directory of the archive. */
  readonly sourceSubdir?: string | undefined
  /** At the end of the new directory's name; `upload` unless given. */
  readonly targetSuffix?: string | undefined
}

export interface PackageInArchive {
  /** From the top of the archive, or of `sourceSubdir`; empty where that is the package itself. */
  readonly sourcePath: string
  /** Where it lies now. */
  readonly directory: string
  /** The name of the directory that it would get. */
  readonly target: string
  /** As it would be, in `root`. */
  readonly skill: Skill
}

/** `tree` is what was unpacked; one directory that holds everything else is taken for the top. */
export async function packagesInArchive(tree: string, root: string, wish: ArchiveWish): Promise<readonly PackageInArchive[]> {
  const top = await topOf(tree)
  const subdirectory = namesOf(wish.sourceSubdir ?? '', 'source_subdir')
  return withDirectory(openDirectory(top), async (whole) => {
    const opening = openBelow(whole, subdirectory).catch((error: unknown) => {
      if (!hasErrorCode(error, 'ENOENT', 'ENOTDIR')) throw error
      throw new HoldfastError('invalid_request', `source_subdir: the archive has no directory '${shortened(subdirectory.join('/'))}'`)
    })
    return withDirectory(opening, async (start) => {
      const { packages } = await findPackages(start, { depth: ARCHIVE_DEPTH, isTopIncluded: true })
      if (packages.length === 0) throw new HoldfastError('invalid_request', 'archive: holds no directory with a SKILL.md')
      const found: PackageInArchive[] = []
      for (const names of packages) {
        const sourcePath = names.join('/')
        const target = targetOf(sourcePath, wish)
        const { skill } = await withDirectory(openBelow(start, names), (directory) => readPackage(directory, join(root, target), target))
        found.push({ sourcePath, directory: join(top, ...subdirectory, ...names), target, skill })
      }
      return found
    })
  })
}

async function topOf(tree: string): Promise<string> {
  const { entries } = await withDirectory(openDirectory(tree), (directory) => entriesOf(directory, 2))
  const [only] = entries
  return entries.length === 1 && only?.isDirectory() === true ? join(tree, only.name) : tree
}

/** `my pack.zip` and `skills/one` → `my-pack-one-upload`. */
export function targetOf(sourcePath: string, { filename, targetSuffix = DEFAULT_SUFFIX }: ArchiveWish): string {
  const name = posix.basename(filename.replaceAll('\\', '/'))
  const suffix = partOf(targetSuffix, MAXIMUM_SUFFIX_LENGTH)
  const leaf = partOf(posix.basename(sourcePath), MAXIMUM_LEAF_LENGTH)
  const room = MAXIMUM_TARGET_LENGTH - leaf.length - suffix.length - 2
  const stem = partOf(name.slice(0, name.length - posix.extname(name).length), room) || FALLBACK_STEM
  return [stem, leaf === stem ? '' : leaf, suffix].filter((part) => part !== '').join('-')
}

function partOf(text: string, length: number): string {
  const plain = text.replaceAll(/[^\p{L}\p{N}_-]+/gu, '-').replaceAll(/^-+|(?<!-)-+$/g, '')
  return Array.from(plain).slice(0, length).join('')
}

/** Those that `sourcePaths` name, or the only one. Throws `invalid_request` that lists what there is. */
export function chosenOf(found: readonly PackageInArchive[], sourcePaths: readonly string[]): readonly PackageInArchive[] {
  const wanted = sourcePaths.map((path) => namesOf(path, 'source_path').join('/'))
  const refuse = (why: string): never => {
    const there = found.map(({ sourcePath }) => `'${sourcePath === '' ? '.' : sourcePath}'`)
    throw new HoldfastError('invalid_request', `source_path: ${why}; the archive holds ${there.slice(0, 20).join(', ')}`, {
      candidates: found.map(({ sourcePath }) => sourcePath),
    })
  }
  const [only] = found
  if (wanted.length === 0) return found.length === 1 && only !== undefined ? [only] : refuse('name the packages that are wanted')
  if (new Set(wanted).size < wanted.length) refuse('a package is named twice')
  const chosen = wanted.map(
    (path) => found.find(({ sourcePath }) => sourcePath === path) ?? refuse(`there is no package '${shortened(path)}'`),
  )
  if (new Set(chosen.map(({ target }) => target)).size < chosen.length) refuse('two packages would get the same directory')
  return chosen
}
