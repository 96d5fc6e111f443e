/**
 * Content-addressed artifacts (since 0.7.13): a tree of files that a client names by the SHA-256 of its manifest.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'

/** Where sandboxes see artifacts, each in a directory named by the digits of its digest. No other mount may lie here. */
export const ARTIFACTS_PATH = '/opt/langbot-artifacts'
export const MAXIMUM_MANIFEST_BYTES = 4 * 1024 * 1024
export const MAXIMUM_ARTIFACT_BYTES = 256 * 1024 * 1024
const MAXIMUM_FILES = 2048
const MAXIMUM_PATH_BYTES = 1024

export const ContentDigest = z.string().regex(/^sha256:[0-9a-f]{64}$/, { error: 'must be sha256: and 64 hexadecimal digits' })

const ArtifactFile = z.strictObject({
  path: z.string().refine(isPlainPath, { error: 'must be a relative path without ".", ".." and empty names' }),
  size: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  executable: z.boolean(),
})

export const ArtifactManifest = z
  .strictObject({
    algorithm: z.literal('sha256-tree-v1'),
    files: z.array(ArtifactFile).max(MAXIMUM_FILES),
    total_bytes: z.int().min(0).max(MAXIMUM_ARTIFACT_BYTES),
  })
  .refine(({ files }) => new Set(files.map(({ path }) => path)).size === files.length, { error: 'must name each path once' })
  .refine(({ files, total_bytes: total }) => files.reduce((sum, { size }) => sum + size, 0) === total, {
    error: 'total_bytes must be the sum of all sizes',
  })
export type ArtifactManifest = z.output<typeof ArtifactManifest>

/** Of the manifest as JSON with sorted keys and without spaces, whatever spelling it was read from. */
export function manifestDigest({ algorithm, files, total_bytes }: ArtifactManifest): string {
  const sorted = files.map(({ executable, path, sha256, size }) => ({ executable, path, sha256, size }))
  const text = JSON.stringify({ algorithm, files: sorted, total_bytes })
  return `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`
}

function isPlainPath(path: string): boolean {
  if (!path.isWellFormed() || path.includes('\0') || Buffer.byteLength(path) > MAXIMUM_PATH_BYTES) return false
  return path.split('/').every((name) => name !== '' && name !== '.' && name !== '..')
}
