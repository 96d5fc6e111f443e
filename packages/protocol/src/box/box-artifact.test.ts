/** Manifests of content-addressed artifacts: what is refused, and the digest that names one. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { ArtifactManifest, manifestDigest } from './box-artifact.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const SHA = 'a'.repeat(64)
const file = (path: string, size = 1) => ({ path, size, sha256: SHA, executable: false })
const manifest = (files: object[], total: number, more: object = {}) =>
  ArtifactManifest.safeParse({ algorithm: 'sha256-tree-v1', files, total_bytes: total, ...more })

test('the digest is that of the reference, whatever the order of the keys', () => {
  const files = [
    { path: 'SKILL.md', size: 3, executable: false, sha256: sha256('hi\n') },
    { sha256: sha256('echo 1\n'), path: 'scripts/run.sh', size: 7, executable: true },
  ]
  const read = ArtifactManifest.parse({ total_bytes: 10, files, algorithm: 'sha256-tree-v1' })
  expect(manifestDigest(read)).toBe(DIGEST)
})
const DIGEST = 'sha256:0683c49d01ea6614049d1affe4626bfe2263e710855282fde3ad7611aee4081d'

test.each(['', '/etc/passwd', '../x', 'a/../b', './a', 'a//b', 'a/', 'a\0b', '\ud800'])('a file at %j is refused', (path) => {
  expect(manifest([file(path)], 1).success).toBe(false)
})

test('names, sums and counts are checked', () => {
  expect(manifest([file('a'), file('dir/ü')], 2).success).toBe(true)
  expect(manifest([file('a'), file('a')], 2).success).toBe(false)
  expect(manifest([file('a')], 2).success).toBe(false)
  expect(manifest([file('a', 2 ** 28 + 1)], 2 ** 28 + 1).success).toBe(false)
  expect(manifest([file('a', -1)], -1).success).toBe(false)
  expect(
    manifest(
      Array.from({ length: 2049 }, (_, index) => file(String(index))),
      2049,
    ).success,
  ).toBe(false)
  expect(manifest([{ ...file('a'), mode: 7 }], 1).success).toBe(false)
  expect(manifest([], 0, { more: 1 }).success).toBe(false)
  expect(manifest([], 0, { algorithm: 'md5' }).success).toBe(false)
})
