/**
 * Skills that a model wrote in its workspace: looked at and taken into the store as if they lay there.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The directory is a sandbox's, which may change it at any moment: nothing in it is followed through a link, and it is read within the
 * bounds of a package.
 */
import type { FileHandle } from 'node:fs/promises'
import { isAbsolute, normalize } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../../../home/error-code.ts'
import { entriesOf, openBelow, openDirectory, openFile, withDirectory } from '../../../skills/directory-handle.ts'
import { MAXIMUM_TREE_ENTRIES } from '../../../skills/package-tree.ts'
import { createSkillStore } from '../../../skills/skill-store.ts'
import type { PackageEntry, SkillStore } from '../../../skills/skill-store.ts'
import type { Log } from '../../../telemetry/log.ts'

const OWNER_MAY_RUN = 0o100

/** A directory in a workspace: the workspace itself, and the way from there. */
export interface WorkspacePath {
  readonly root: string
  readonly names: readonly string[]
}

export interface WorkspaceSkillsNeeds {
  readonly store: SkillStore
  /** `null` for what is not in the caller's workspace. */
  readonly locate: (path: string) => WorkspacePath | null
  readonly clock: () => number
  readonly log: Log
}

export function withWorkspaceSkills({ store, locate, clock, log }: WorkspaceSkillsNeeds): SkillStore {
  /** What lies in the store is the store's. */
  const found = (path: string | undefined) =>
    path === undefined || !isAbsolute(path) || normalize(path).startsWith(`${store.directory}/`) ? null : locate(path)
  return {
    ...store,
    async scan(path) {
      const place = found(path)
      if (place === null) return store.scan(path)
      const { root, names } = place
      return createSkillStore({ directory: root, clock, log }).scan([root, ...names].join('/'))
    },
    async create(input) {
      const place = found(input.packageRoot)
      if (place === null) return store.create(input)
      const { name, packageRoot: _elsewhere, ...fields } = input
      try {
        return await withDirectory(openDirectory(place.root), (root) =>
          withDirectory(openBelow(root, place.names), (top) => store.adopt(name, entriesBelow(top, ''), fields)),
        )
      } catch (error) {
        if (!hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw error
        throw new HoldfastError('invalid_request', 'package_root: there is no such directory in the workspace', {}, { cause: error })
      }
    },
  }
}

async function* entriesBelow(directory: FileHandle, above: string): AsyncGenerator<PackageEntry, void, void> {
  // One more than a package may have, so that the store refuses what is cut off here.
  const { entries } = await entriesOf(directory, MAXIMUM_TREE_ENTRIES + 1)
  for (const entry of entries) {
    const path = `${above}${entry.name}`
    if (entry.isDirectory()) {
      yield { kind: 'directory', path }
      const below = await openBelow(directory, [entry.name])
      try {
        yield* entriesBelow(below, `${path}/`)
      } finally {
        await below.close()
      }
    } else if (entry.isFile()) {
      const file = await openFile(directory, entry.name)
      try {
        const { mode } = await file.stat()
        yield { kind: 'file', path, isExecutable: (mode & OWNER_MAY_RUN) !== 0, content: file.createReadStream({ autoClose: false }) }
      } finally {
        await file.close()
      }
    }
  }
}
