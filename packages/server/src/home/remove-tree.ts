/**
 * Removes a tree that a sandbox filled: deeper than any path can say, with names that are no text, and with rights taken away.
 *
 * Every directory below the top is moved up to it before it is emptied, so no path grows long, and what a crash leaves lies where the next
 * call looks. Links are removed, never followed. Whoever calls this has ended everything that could still write there.
 */
import { chmod, lstat, opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { hasErrorCode } from './error-code.ts'
import { randomId } from './random-id.ts'

/** So many names at once: enough to keep the disk busy, constant memory in a directory of any size. */
const BATCH = 64

/** Nothing there is fine. Safe to repeat. */
export async function removeTree(path: string): Promise<void> {
  const top = Buffer.from(path)
  try {
    if ((await lstat(top)).isDirectory()) await removeDirectory(top, (directory) => removeBranch(directory, top))
    else await unlink(top)
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error
  }
}

/** Its own directories go up to the top, where they are met next. */
async function removeBranch(directory: Buffer, top: Buffer): Promise<void> {
  await removeDirectory(directory, (child) => withRights(child, () => rename(child, below(top, Buffer.from(randomId('deep'))))))
}

/** A look may miss what comes and goes meanwhile, so it is empty only when one finds nothing. */
async function removeDirectory(directory: Buffer, dispose: (child: Buffer) => Promise<void>): Promise<void> {
  let found: number
  do {
    found = 0
    for await (const { directories, others } of batchesOf(directory)) {
      found += directories.length + others.length
      await Promise.all(others.map((path) => withRights(directory, () => unlink(path))))
      for (const child of directories) await dispose(child)
    }
  } while (found > 0)
  await rmdir(directory)
}

async function* batchesOf(directory: Buffer) {
  const empty = () => ({ directories: new Array<Buffer>(), others: new Array<Buffer>() })
  let batch = empty()
  // Latin-1 has a letter for every byte: what comes back as bytes is the very name.
  const entries = await withRights(directory, () => opendir(directory, { encoding: 'latin1', bufferSize: BATCH }))
  for await (const entry of entries) {
    const kind = entry.isDirectory() ? batch.directories : batch.others
    kind.push(below(directory, Buffer.from(entry.name, 'latin1')))
    if (batch.directories.length + batch.others.length < BATCH) continue
    yield batch
    batch = empty()
  }
  yield batch
}

/** Whoever owns a directory may have taken their own rights to it away, and only root is not bound by that. */
async function withRights<T>(directory: Buffer, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!hasErrorCode(error, 'EACCES')) throw error
    await chmod(directory, 0o700)
    return act()
  }
}

function below(directory: Buffer, name: Buffer): Buffer {
  return Buffer.concat([directory, Buffer.from('/'), name])
}
