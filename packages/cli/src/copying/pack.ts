/**
 * A directory of this machine as a tar archive, made while it is read.
 *
 * Files, directories and symbolic links; anything else is left out and told.
 */
import type { Stats } from 'node:fs'
import { lstat, open, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { padding, TAR_END, tarHeader } from './tar-format.ts'

const PIECE_BYTES = 256 * 1024

/** `onSkipped` is told of what an archive cannot hold. Names in the archive begin with `./`. */
export async function* packDirectory(directory: string, onSkipped: (path: string) => void): AsyncGenerator<Uint8Array, void, void> {
  const waiting = ['.']
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const path = join(directory, name)
    const stat = await lstat(path)
    const base = { mode: stat.mode, modifiedAt: stat.mtimeMs, size: 0, target: '' }
    const shown = name === '.' ? './' : `./${name}`
    if (stat.isDirectory()) {
      yield tarHeader({ ...base, type: 'directory', name: shown.endsWith('/') ? shown : `${shown}/` })
      // The last one is taken first: in the order of their names.
      const children = (await readdir(path)).toSorted().toReversed()
      waiting.push(...children.map((child) => (name === '.' ? child : `${name}/${child}`)))
    } else if (stat.isSymbolicLink()) yield tarHeader({ ...base, type: 'symlink', name: shown, target: await readlink(path) })
    else if (stat.isFile()) yield* packFile(path, shown, stat)
    else onSkipped(path)
  }
  yield TAR_END
}

/** Exactly as many bytes as its header says, whatever happens to the file meanwhile. */
async function* packFile(path: string, name: string, stat: Stats): AsyncGenerator<Uint8Array, void, void> {
  const { size, mode, mtimeMs: modifiedAt } = stat
  const file = await open(path, 'r')
  try {
    yield tarHeader({ name, type: 'file', mode, modifiedAt, size, target: '' })
    let left = size
    while (left > 0) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(PIECE_BYTES, left)), 0)
      if (bytesRead === 0) throw new Error(`${path} became shorter while it was read`)
      left -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
    yield Buffer.alloc(padding(size))
  } finally {
    await file.close()
  }
}
