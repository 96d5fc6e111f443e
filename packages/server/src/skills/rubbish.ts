/**
 * Removes trees that programs in a sandbox may still be at work in: one that stands in a directory keeps it, wherever the server moves it.
 *
 * Stands beside the flow.
 *
 * `removeTree` takes for granted that nobody writes there any more; a link put in place of a directory at the right moment would lead it
 * out. Here every directory is held open without following a link before it is looked into, and everything is named from the handle. A
 * program that keeps making files wins for the time being: what is left goes when its sandbox has gone.
 */
import { constants } from 'node:fs'
import { chmod, lstat, open, opendir, rename, rmdir, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { hasErrorCode } from '../home/error-code.ts'
import { randomId } from '../home/random-id.ts'
import { inside, itself, openDirectory, withDirectory } from './directory-handle.ts'

/** So many names in one go; a program cannot keep the server at it for ever. */
const MAXIMUM_WORK = 50_000
/** Opens what may not be read, and does nothing else. Not among Node's constants. */
const O_PATH = 0o10000000

/** Empties a directory of the server's own, which no sandbox shows, as far as it goes. `false`: something is left. */
export async function emptyRubbish(bin: string, maximumWork = MAXIMUM_WORK): Promise<boolean> {
  const work = { left: maximumWork }
  for (let isEmpty = false; !isEmpty && work.left > 0;) {
    isEmpty = true
    for await (const { name } of await namesIn(bin)) {
      isEmpty = false
      work.left -= 1
      await removeOne(bin, join(bin, name), work)
      if (work.left <= 0) break
    }
  }
  return work.left > 0
}

/** None where there is no such directory. */
async function namesIn(bin: string): Promise<AsyncIterable<{ readonly name: string }> | readonly { readonly name: string }[]> {
  try {
    return await opendir(bin)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return []
    throw error
  }
}

/** What lies in it directly is the server's to name: only what is deeper can be swapped. */
async function removeOne(bin: string, path: string, work: { left: number }): Promise<void> {
  if (!(await lstat(path)).isDirectory()) return unlink(path)
  await grant(path)
  await withDirectory(openDirectory(path), (directory) => emptyOne(bin, directory, work))
  await rmdir(path).catch((error: unknown) => {
    // Somebody was quicker: the next look meets it again.
    if (!hasErrorCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
  })
}

/** Directories in it are moved up to the bin, where they are met next: no path grows long, and none leads through another's hands. */
async function emptyOne(bin: string, directory: FileHandle, work: { left: number }): Promise<void> {
  for await (const { name } of await opendir(itself(directory), { encoding: 'latin1' })) {
    work.left -= 1
    if (work.left <= 0) return
    const child = Buffer.concat([Buffer.from(inside(directory, '')), Buffer.from(name, 'latin1')])
    try {
      await unlink(child)
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) continue
      if (!hasErrorCode(error, 'EISDIR', 'EPERM', 'EACCES')) throw error
      await moveUp(bin, child)
    }
  }
}

async function moveUp(bin: string, child: Buffer): Promise<void> {
  const move = () => rename(child, join(bin, randomId('deep')))
  try {
    await move()
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return
    if (!hasErrorCode(error, 'EACCES')) throw error
    // A directory can be moved by its owner only with the right to write it.
    await grant(child)
    await move().catch((again: unknown) => {
      if (!hasErrorCode(again, 'ENOENT')) throw again
    })
  }
}

/** The rights of an owner on a directory, and on nothing that a link in its place leads to. */
export async function grant(path: string | Buffer, mode = 0o700): Promise<void> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node takes bytes for a path here; its types do not say so
  const handle = await open(path as string, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOTDIR', 'ELOOP', 'ENOENT')) return null
    throw error
  })
  if (handle === null) return
  try {
    await chmod(itself(handle), mode)
  } finally {
    await handle.close()
  }
}
