/**
 * One artifact from the client's directory into the session's, with each file checked against the manifest while it is copied.
 *
 * The source may change at any moment: no link in it is followed, and a file that is not as the manifest says fails the whole copy.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { ArtifactManifest, BoxError, manifestDigest, MAXIMUM_MANIFEST_BYTES } from '@holdfast/protocol/box'
import { openBelow, openDirectory, openFile, readText, withDirectory } from '../../../skills/directory-handle.ts'

/** With the words of the reference. */
export function artifactFailure(problem: string, options?: ErrorOptions): BoxError {
  return new BoxError('BoxError', `Immutable artifact preparation failed: ${problem}`, {}, options)
}

const PIECE_BYTES = 256 * 1024

/** Throws `BoxError` for one that is not well formed, or not the one that the digest names. */
export async function readManifest(path: string, digest: string): Promise<ArtifactManifest> {
  const text = await withDirectory(openDirectory(dirname(path)), (directory) =>
    readText(directory, posix.basename(path), MAXIMUM_MANIFEST_BYTES),
  )
  const parsed = ArtifactManifest.safeParse(jsonOf(text))
  if (!parsed.success) throw artifactFailure(`Artifact manifest is not valid: ${parsed.error.issues[0]?.message ?? ''}`)
  if (manifestDigest(parsed.data) !== digest) throw artifactFailure('Artifact manifest does not match content_digest')
  return parsed.data
}

/** `target` does not exist yet; what is left there by a failure is the caller's to remove. */
export async function copyArtifact(source: string, target: string, { files }: ArtifactManifest): Promise<void> {
  await mkdir(target, { mode: 0o755 })
  await withDirectory(openDirectory(source), async (top) => {
    for (const { path, size, sha256, executable } of files) {
      const names = path.split('/')
      const copy = join(target, path)
      await mkdir(dirname(copy), { recursive: true, mode: 0o755 })
      await withDirectory(openBelow(top, names.slice(0, -1)), async (directory) => {
        const from = await openFile(directory, names.at(-1) ?? '')
        try {
          if ((await copyFile(from, copy, size)) !== sha256)
            throw artifactFailure(`file ${JSON.stringify(path)} does not match the manifest`)
        } finally {
          await from.close()
        }
      })
      await chmod(copy, executable ? 0o555 : 0o444)
    }
  })
  // Whatever the server's umask is.
  for (const directory of new Set(['.', ...files.flatMap(({ path }) => parentsOf(path))])) await chmod(join(target, directory), 0o755)
}

/** The SHA-256 of what was copied; empty when the file does not have this size. */
async function copyFile(from: FileHandle, path: string, size: number): Promise<string> {
  const to = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600)
  try {
    const hash = createHash('sha256')
    // One byte more than expected, so that a longer file shows.
    const piece = Buffer.alloc(Math.min(size + 1, PIECE_BYTES))
    for (let at = 0; ;) {
      const { bytesRead } = await from.read(piece, 0, piece.length, at)
      if (bytesRead === 0) return at === size ? hash.digest('hex') : ''
      at += bytesRead
      if (at > size) return ''
      hash.update(piece.subarray(0, bytesRead))
      await to.write(piece, 0, bytesRead)
    }
  } finally {
    await to.close()
  }
}

/** Of a tree that was copied here. */
export async function treeBytes(directory: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) bytes += (await lstat(join(entry.parentPath, entry.name))).size
  return bytes
}

function parentsOf(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1)
  return names.map((_, index) => names.slice(0, index + 1).join('/'))
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
