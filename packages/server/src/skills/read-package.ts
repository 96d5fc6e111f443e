/**
 * One package directory → the skill that it is.
 *
 * Stands beside the flow.
 */
import { lstat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { inside, readText } from './directory-handle.ts'
import { ENTRY_FILES } from './discovery.ts'
import { parseSkillText } from './front-matter.ts'
import { isSkillName, shortened } from './skill.ts'
import type { Skill } from './skill.ts'

export const MAXIMUM_TEXT_BYTES = 1024 * 1024
const PYTHON_MANIFESTS = ['requirements.txt', 'pyproject.toml', 'setup.py', 'setup.cfg']

export interface ReadPackage {
  readonly skill: Skill
  /** The whole entry file. */
  readonly text: string
}

/** Throws `invalid_request` or `payload_too_large` for a package that cannot be used. */
export async function readPackage(directory: FileHandle, packageRoot: string, fallbackName: string): Promise<ReadPackage> {
  const { entryFile, text } = await readEntry(directory)
  const { name: given, displayName, description, instructions } = parseSkillText(text)
  const name = given.trim() === '' ? fallbackName : given.trim()
  if (!isSkillName(name))
    throw new HoldfastError('invalid_request', `the package calls itself '${shortened(name)}', which cannot be a name`)
  const [entry, own] = await Promise.all([lstat(inside(directory, entryFile)), directory.stat()])
  return {
    text,
    skill: {
      ...{ name, displayName: displayName.trim() === '' ? name : displayName, description, instructions, packageRoot, entryFile },
      pythonProject: await isPythonProject(directory),
      // Where the file system does not know when something was made, it says 0.
      createdAt: own.birthtimeMs > 0 ? own.birthtime : entry.ctime,
      updatedAt: entry.mtime,
    },
  }
}

async function readEntry(directory: FileHandle): Promise<{ readonly entryFile: string; readonly text: string }> {
  for (const entryFile of ENTRY_FILES) {
    try {
      return { entryFile, text: await readText(directory, entryFile, MAXIMUM_TEXT_BYTES) }
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT')) throw error
    }
  }
  throw new HoldfastError('invalid_request', `the directory is no skill: it holds neither ${ENTRY_FILES.join(' nor ')}`)
}

async function isPythonProject(directory: FileHandle): Promise<boolean> {
  for (const name of PYTHON_MANIFESTS) if ((await kindOf(directory, name)) === 'file') return true
  return (await kindOf(directory, '.venv')) === 'directory'
}

async function kindOf(directory: FileHandle, name: string): Promise<'file' | 'directory' | 'other'> {
  try {
    const status = await lstat(inside(directory, name))
    return status.isFile() ? 'file' : status.isDirectory() ? 'directory' : 'other'
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return 'other'
    throw error
  }
}
