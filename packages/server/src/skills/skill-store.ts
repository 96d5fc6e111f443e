/**
 * The skills of one tenant, on disk.
 *
 * Stands beside the flow.
 *
 * Every package is a directory below the root, at whatever depth; what lies on the disk is the truth and nothing else is kept. All
 * operations of a tenant run one after the other. What is being made lies in `.making` until it is whole and is then put in its place
 * by one rename, so a crash leaves nothing but what `sweep` removes.
 */
import { rename } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { removeTree } from '../home/remove-tree.ts'
import type { Log } from '../telemetry/log.ts'
import { chosenOf, packagesInArchive } from './archive-packages.ts'
import type { ArchiveWish, PackageInArchive } from './archive-packages.ts'
import { checkEntryText, filled, nameSkill, writeEntry } from './entry-file.ts'
import { openBelow, openDirectory, withDirectory } from './directory-handle.ts'
import { ENTRY_FILES, findPackages } from './discovery.ts'
import { parseSkillText, rewriteSkillText } from './front-matter.ts'
import { listFiles, readFileOf, writeFileOf } from './package-files.ts'
import type { ListWish, SkillFiles } from './package-files.ts'
import { createPackageIndex, LIST_DEPTH, MAKING } from './package-index.ts'
import { createPackageTree } from './package-tree.ts'
import { readPackage } from './read-package.ts'
import { namesOf } from './relative-path.ts'
import { createSerialQueue } from './serial-queue.ts'
import { checkSkillName, shortened } from './skill.ts'
import type { Skill, SkillFields } from './skill.ts'
import { createStoreRoot } from './store-root.ts'
import { unpackZip } from './unpack-zip.ts'
import type { ZipSource } from './unpack-zip.ts'

export interface NewSkill extends SkillFields {
  readonly name: string
  /** A directory in the tenant's own root that becomes the package, as it is but for its entry file. */
  readonly packageRoot?: string | undefined
}

/** A name or a root may be given and must be what they are. */
export interface SkillUpdate extends SkillFields {
  readonly name?: string | undefined
  readonly packageRoot?: string | undefined
}

export interface SkillPreview extends Skill {
  readonly sourcePath: string
}

/** One file or directory of a package that comes from elsewhere. A file's content is read before the next entry is asked for. */
export type PackageEntry =
  | { readonly kind: 'directory'; readonly path: string }
  | {
      readonly kind: 'file'
      readonly path: string
      readonly isExecutable: boolean
      readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
    }

export interface SkillStore {
  /** The absolute directory that holds them all. */
  readonly directory: string
  /** The newest first. Packages that cannot be read are left out, and logged. */
  list(): Promise<readonly Skill[]>
  get(name: string): Promise<Skill | null>
  create(input: NewSkill): Promise<Skill>
  update(name: string, input: SkillUpdate): Promise<Skill>
  /** Takes the package and nothing beside it. */
  remove(name: string): Promise<void>
  /** The one package at or closely below a path in the root. */
  scan(path: string): Promise<Skill>
  files(name: string, path: string, wish?: ListWish): Promise<SkillFiles>
  readFile(name: string, path: string): Promise<{ readonly path: string; readonly content: string }>
  writeFile(name: string, path: string, content: string): Promise<{ readonly path: string; readonly bytesWritten: number }>
  previewZip(source: ZipSource, wish: ArchiveWish): Promise<readonly SkillPreview[]>
  installZip(source: ZipSource, wish: ArchiveWish & { readonly sourcePaths?: readonly string[] | undefined }): Promise<readonly Skill[]>
  /** Makes a package of files that come from elsewhere, such as a session's workspace. Empty fields are the package's own. */
  adopt(name: string, entries: AsyncIterable<PackageEntry>, fields?: SkillFields): Promise<Skill>
}

export interface SkillStoreNeeds {
  /** The tenant's own; made when it is first needed. */
  readonly directory: string
  readonly clock: () => number
  readonly log: Log
  /** Told after each change. */
  readonly onChange?: () => void
}

const SCAN_DEPTH = 2

/** Removes what a crash left half made. To be called before anybody works in the directory. */
export async function sweepSkills(directory: string): Promise<void> {
  await removeTree(join(directory, MAKING))
}

export function createSkillStore({ directory, log, onChange = () => undefined }: SkillStoreNeeds): SkillStore {
  const inTurn = createSerialQueue()
  const place = createStoreRoot(directory)
  const { withDraft } = place
  const index = createPackageIndex({ directory, log })

  async function createInPlace(root: FileHandle, input: NewSkill, packageRoot: string): Promise<readonly string[]> {
    const names = await place.namesOf(packageRoot, 'package_root')
    if (names.length === 0 || names.length > LIST_DEPTH)
      throw new HoldfastError('invalid_request', `package_root: must lie 1 to ${LIST_DEPTH} directories below the skills of this tenant`)
    const { packages } = await findPackages(root, { depth: LIST_DEPTH, skip: [MAKING], isTopIncluded: false })
    const nested = packages.find((other) => other.length !== names.length && isPrefix(other, names) !== isPrefix(names, other))
    if (nested !== undefined) throw new HoldfastError('invalid_request', 'package_root: lies in a package or holds one')
    await withDirectory(openBelow(root, names), async (opened) => {
      const isPackage = packages.some((other) => isPrefix(other, names))
      await nameSkill(opened, place.making, input.name, input, isPackage ? await readPackage(opened, packageRoot, input.name) : null)
    })
    return names
  }

  async function withUnpacked<T>(
    source: ZipSource,
    wish: ArchiveWish,
    act: (found: readonly PackageInArchive[]) => Promise<T>,
  ): Promise<T> {
    return withDraft(async (draft) => {
      await unpackZip(source, draft)
      return act(await packagesInArchive(draft, directory, wish))
    })
  }

  /** All of them, or none. */
  async function moveIn(chosen: readonly PackageInArchive[]): Promise<void> {
    const moved: string[] = []
    try {
      for (const { directory: from, target } of chosen) {
        await place.checkVacant(target)
        await rename(from, join(directory, target))
        moved.push(target)
      }
    } catch (error) {
      for (const target of moved) await removeTree(join(directory, target))
      throw error
    }
  }

  const reading = <T>(act: (root: FileHandle) => Promise<T>): Promise<T> => inTurn(() => place.open(act))
  const changing = <T>(act: (root: FileHandle) => Promise<T>): Promise<T> =>
    inTurn(async () => {
      try {
        return await place.open(act)
      } finally {
        onChange()
      }
    })

  return {
    directory,
    list: () => reading(async (root) => (await index.all(root)).map(({ skill }) => skill)),
    get: (name) => reading(async (root) => (await index.find(root, name))?.skill ?? null),

    create: (input) =>
      changing(async (root) => {
        await index.checkFree(root, input.name)
        if (input.packageRoot !== undefined && input.packageRoot !== '')
          return (await index.readAt(root, await createInPlace(root, input, input.packageRoot))).skill
        await place.checkVacant(input.name)
        await withDraft(async (draft) => {
          await withDirectory(openDirectory(draft), (opened) => nameSkill(opened, place.making, input.name, input, null))
          await rename(draft, join(directory, input.name))
        })
        return (await index.readAt(root, [input.name])).skill
      }),

    update: (name, input) =>
      changing(async (root) => {
        const { skill, text, names } = await index.named(root, name)
        if (input.name !== undefined && input.name !== name)
          throw new HoldfastError(
            'invalid_request',
            `name: the skill '${name}' cannot become '${shortened(input.name)}'; a skill keeps its name`,
          )
        if (input.packageRoot !== undefined && input.packageRoot !== '' && input.packageRoot !== skill.packageRoot)
          throw new HoldfastError('invalid_request', 'package_root: a skill keeps its directory')
        const before = parseSkillText(text)
        const { displayName = before.displayName, description = before.description, instructions = before.instructions } = input
        await withDirectory(openBelow(root, names), (opened) =>
          writeEntry(opened, place.making, skill.entryFile, rewriteSkillText(text, { name, displayName, description, instructions })),
        )
        return (await index.readAt(root, names)).skill
      }),

    remove: (name) =>
      changing(async (root) => {
        const { names } = await index.named(root, name)
        await withDraft(async (draft) => {
          // Out of sight in one step: half a package is never taken for a whole one.
          await rename(join(directory, ...names), join(draft, 'doomed'))
        })
      }),

    scan: (path) =>
      reading(async (root) => {
        const names = await place.namesOf(path, 'path')
        const wish = { depth: SCAN_DEPTH, isTopIncluded: names.length > 0, skip: names.length === 0 ? [MAKING] : [] }
        const { packages } = await withDirectory(openBelow(root, names), (start) => findPackages(start, wish))
        const [only] = packages
        if (only === undefined || packages.length > 1)
          throw new HoldfastError('invalid_request', `path: must hold one skill, and holds ${packages.length}`)
        return (await index.readAt(root, [...names, ...only])).skill
      }),

    files: (name, path, wish = {}) =>
      reading(async (root) =>
        withDirectory(openBelow(root, (await index.named(root, name)).names), (opened) => listFiles(opened, path, wish)),
      ),

    readFile: (name, path) =>
      reading(async (root) => withDirectory(openBelow(root, (await index.named(root, name)).names), (opened) => readFileOf(opened, path))),

    writeFile: (name, path, content) =>
      changing(async (root) => {
        const { names } = await index.named(root, name)
        if (ENTRY_FILES.some((entry) => entry === namesOf(path).join('/'))) checkEntryText(content, name, names.at(-1) ?? '')
        return withDirectory(openBelow(root, names), (opened) => writeFileOf(opened, path, content, place.making))
      }),

    previewZip: (source, wish) =>
      reading(() => withUnpacked(source, wish, async (inArchive) => inArchive.map(({ skill, sourcePath }) => ({ ...skill, sourcePath })))),

    installZip: (source, { sourcePaths = [], ...wish }) =>
      changing((root) =>
        withUnpacked(source, wish, async (inArchive) => {
          const chosen = chosenOf(inArchive, sourcePaths)
          const taken = chosen.map(({ skill }) => skill.name)
          if (new Set(taken).size < taken.length)
            throw new HoldfastError('name_taken', `two of the packages have the same name: ${taken.join(', ')}`)
          for (const name of taken) await index.checkFree(root, name)
          await moveIn(chosen)
          return Promise.all(chosen.map(async ({ target }) => (await index.readAt(root, [target])).skill))
        }),
      ),

    // Only the naming waits for its turn: a sender may be slow.
    adopt: (name, entries, fields = {}) =>
      withDraft(async (draft) => {
        checkSkillName(name)
        const tree = createPackageTree(draft)
        for await (const entry of entries) {
          if (entry.kind === 'directory') await tree.directory(entry.path)
          else await tree.file(entry.path, entry.isExecutable, entry.content)
        }
        return changing(async (root) => {
          await index.checkFree(root, name)
          await place.checkVacant(name)
          await withDirectory(openDirectory(draft), async (opened) => {
            const { packages } = await findPackages(opened, { depth: 0, isTopIncluded: true })
            if (packages.length === 0 && filled(fields.instructions) === '')
              throw new HoldfastError('invalid_request', 'path: the directory has no SKILL.md; write one, or give instructions')
            await nameSkill(opened, place.making, name, fields, packages.length === 0 ? null : await readPackage(opened, draft, name))
          })
          await rename(draft, join(directory, name))
          return (await index.readAt(root, [name])).skill
        })
      }),
  }
}

/** Whether `names` begin with `start`. */
function isPrefix(start: readonly string[], names: readonly string[]): boolean {
  return start.every((name, index) => names[index] === name)
}
