/** Artifacts in a session's directory: whole and verified, or not at all. */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ArtifactManifest, manifestDigest } from '@holdfast/protocol/box'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createArtifacts } from './artifacts.ts'

const SESSION = 'ses_0000000000000001'
let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'holdfast-artifacts-'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const open = () => createArtifacts({ storageOf: (id) => join(base, 'storage', id) })
const shown = (...names: string[]) => join(base, 'storage', SESSION, 'artifacts', 'shown', ...names)
const resolve = async ({ packagePath, manifestPath }: { packagePath: string; manifestPath: string }) => ({ packagePath, manifestPath })

function artifact(name: string, contents: Readonly<Record<string, string>>, executable: readonly string[] = []) {
  const packagePath = join(base, name, 'package')
  const files = Object.entries(contents).map(([path, text]) => {
    mkdirSync(dirname(join(packagePath, path)), { recursive: true })
    writeFileSync(join(packagePath, path), text)
    const sha256 = createHash('sha256').update(text).digest('hex')
    return { path, size: Buffer.byteLength(text), sha256, executable: executable.includes(path) }
  })
  const total_bytes = files.reduce((sum, { size }) => sum + size, 0)
  const manifest = ArtifactManifest.parse({ algorithm: 'sha256-tree-v1', files, total_bytes })
  const manifestPath = join(base, name, 'manifest.json')
  writeFileSync(manifestPath, JSON.stringify(manifest, null, 2))
  const digest = manifestDigest(manifest)
  return { digest, packagePath, manifestPath, hex: digest.slice('sha256:'.length) }
}

test('a tree is copied as the manifest says, for everybody to read, and what lies beside it is not', async () => {
  const one = artifact('one', { 'SKILL.md': 'hi\n', 'scripts/deep/run.sh': 'echo 1\n' }, ['scripts/deep/run.sh'])
  writeFileSync(join(one.packagePath, 'secret'), 'not in the manifest')
  chmodSync(one.packagePath, 0o700)
  const before = process.umask(0o077)
  const artifacts = open()
  await artifacts.show(SESSION, [one], resolve)
  process.umask(before)
  expect(readFileSync(shown(one.hex, 'SKILL.md'), 'utf8')).toBe('hi\n')
  const modeOf = (...names: string[]) => statSync(shown(...names)).mode & 0o777
  expect([modeOf(), modeOf(one.hex), modeOf(one.hex, 'scripts', 'deep')]).toEqual([0o755, 0o755, 0o755])
  expect([modeOf(one.hex, 'SKILL.md'), modeOf(one.hex, 'scripts', 'deep', 'run.sh')]).toEqual([0o444, 0o555])
  expect(existsSync(shown(one.hex, 'secret'))).toBe(false)
  expect([artifacts.has(SESSION, [one]), artifacts.has('ses_0000000000000002', [one])]).toEqual([true, false])
})

test('a file that is not as the manifest says fails the whole tree, and nothing of it is shown', async () => {
  const changes: readonly ((path: string) => void)[] = [
    (path) => writeFileSync(path, 'HI\n'),
    (path) => writeFileSync(path, 'hi\nmore'),
    (path) => writeFileSync(path, ''),
    (path) => rmSync(path),
    (path) => {
      rmSync(path)
      symlinkSync('/etc/hostname', path)
    },
  ]
  for (const [index, change] of changes.entries()) {
    const one = artifact(`changed-${index}`, { a: 'a', 'dir/b': 'hi\n' })
    change(join(one.packagePath, 'dir', 'b'))
    await expect(open().show(SESSION, [one], resolve)).rejects.toMatchObject({ code: expect.any(String) as string })
  }
  expect(readdirSync(shown())).toEqual([])
})

test('a directory that was swapped for a link is not followed', async () => {
  const one = artifact('linked', { 'dir/b': 'hi\n' })
  rmSync(join(one.packagePath, 'dir'), { recursive: true })
  mkdirSync(join(base, 'elsewhere'))
  writeFileSync(join(base, 'elsewhere', 'b'), 'hi\n')
  symlinkSync(join(base, 'elsewhere'), join(one.packagePath, 'dir'))
  await expect(open().show(SESSION, [one], resolve)).rejects.toThrow('Immutable artifact preparation failed')
})

test('a manifest of another digest is refused in the words of the reference', async () => {
  const [one, two] = [artifact('one', { a: '1' }), artifact('two', { a: '2' })]
  await expect(open().show(SESSION, [{ ...one, manifestPath: two.manifestPath }], resolve)).rejects.toThrow(
    'Immutable artifact preparation failed: Artifact manifest does not match content_digest',
  )
  writeFileSync(one.manifestPath, '{"algorithm":')
  await expect(open().show(SESSION, [one], resolve)).rejects.toThrow('is not valid')
})

test('one that is there is not copied again, also by the next server, and half a copy is no tree', async () => {
  const [one, two] = [artifact('one', { a: '1' }), artifact('two', { a: '2' })]
  await open().show(SESSION, [one], resolve)
  mkdirSync(join(base, 'storage', SESSION, 'artifacts', 'making', 'tree_half'), { recursive: true })
  rmSync(one.packagePath, { recursive: true })
  const next = open()
  await next.show(SESSION, [one, two, two], resolve)
  expect(readdirSync(shown()).toSorted()).toEqual([one.hex, two.hex].toSorted())
  expect(readdirSync(join(base, 'storage', SESSION, 'artifacts', 'making'))).toEqual([])
  expect(await next.isPrepared(SESSION)).toBe(true)
  expect(await next.isPrepared('ses_0000000000000002')).toBe(false)
})

test('a session holds 256 trees and 256 MiB, counted over restarts', async () => {
  const many = Array.from({ length: 257 }, (_, index) => artifact(`n${index}`, { a: String(index) }))
  await open().show(SESSION, many.slice(0, 256), resolve)
  await expect(open().show(SESSION, many, resolve)).rejects.toThrow('acquire a new Box')
  rmSync(shown(), { recursive: true })
  mkdirSync(shown('ab'.repeat(32), 'deep'), { recursive: true })
  const large = shown('ab'.repeat(32), 'deep', 'file')
  writeFileSync(large, '')
  truncateSync(large, 256 * 1024 * 1024 - 1)
  await expect(open().show(SESSION, [artifact('two', { a: '12' })], resolve)).rejects.toThrow('acquire a new Box')
  await open().show(SESSION, [artifact('one', { a: '1' })], resolve)
})
