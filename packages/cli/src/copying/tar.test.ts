/** Directories as archives and back, and archives that mean harm. */
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { packDirectory } from './pack.ts'
import { padding, TAR_END, tarHeader } from './tar-format.ts'
import type { TarEntry } from './tar-format.ts'
import { unpackInto } from './unpack.ts'

let here: string
beforeEach(() => {
  here = mkdtempSync(join(tmpdir(), 'holdfast-tar-'))
})
afterEach(() => rmSync(here, { recursive: true, force: true }))

const LONG = 'n'.repeat(200)
const unpack = (bytes: AsyncIterable<Uint8Array>, into = join(here, 'out')) => unpackInto(into, bytes, () => undefined)

function namesIn(directory: string): ReadonlySet<string> {
  return new Set(readdirSync(directory, { recursive: true, encoding: 'utf8' }))
}

/** As one archive, cut into pieces of that size. */
async function* archive(pieces: readonly Uint8Array[], size = 700): AsyncGenerator<Uint8Array> {
  const all = Buffer.concat([...pieces, TAR_END])
  for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size)
}

function entry(name: string, content = '', more: Partial<TarEntry> & { readonly type?: 'file' | 'directory' | 'symlink' } = {}): Buffer {
  const size = Buffer.byteLength(content)
  const header = tarHeader({ name, type: 'file', mode: 0o644, size, modifiedAt: 0, target: '', ...more })
  return Buffer.concat([header, Buffer.from(content), Buffer.alloc(padding(size))])
}

/** With another type than we would write. */
function typed(header: Buffer, flag: string): Buffer {
  const changed = Buffer.from(header)
  const difference = flag.charCodeAt(0) - (changed[156] ?? 0)
  const sum = Number.parseInt(changed.toString('latin1', 148, 154), 8) + difference
  changed.write(flag, 156, 'latin1')
  changed.write(sum.toString(8).padStart(6, '0'), 148)
  return changed
}

function sampleTree(): string {
  const source = join(here, 'source')
  mkdirSync(join(source, 'sub', LONG), { recursive: true })
  writeFileSync(join(source, 'empty'), '')
  writeFileSync(join(source, 'sub', LONG, 'é'), 'deep', { mode: 0o700 })
  writeFileSync(join(source, 'block'), 'x'.repeat(512))
  symlinkSync(`../${LONG}/${LONG}`, join(source, 'link'))
  return source
}

test('a directory is as it was after both ways', async () => {
  const source = sampleTree()
  expect(await unpack(packDirectory(source, () => undefined))).toEqual({ files: 4, skipped: [] })
  expect(namesIn(join(here, 'out'))).toEqual(namesIn(source))
  expect(readFileSync(join(here, 'out', 'sub', LONG, 'é'), 'utf8')).toBe('deep')
  expect(statSync(join(here, 'out', 'sub', LONG, 'é')).mode & 0o777).toBe(0o700)
  expect(readlinkSync(join(here, 'out', 'link'))).toBe(`../${LONG}/${LONG}`)
})

test('other programs read what is written here, and are read', async () => {
  const source = sampleTree()
  const packed = Buffer.concat(await Array.fromAsync(packDirectory(source, () => undefined)))
  mkdirSync(join(here, 'theirs'))
  const theirs = spawnSync('tar', ['-x', '-f', '-', '-C', join(here, 'theirs')], { input: packed })
  expect({ status: theirs.status, errors: theirs.stderr.toString() }).toEqual({ status: 0, errors: '' })
  expect(readFileSync(join(here, 'theirs', 'sub', LONG, 'é'), 'utf8')).toBe('deep')
  for (const format of ['gnu', 'posix', 'ustar']) {
    // ustar has no room for the link.
    const names = format === 'ustar' ? ['sub', 'empty', 'block'] : ['.']
    const made = spawnSync('tar', ['-c', `--format=${format}`, '-f', '-', '-C', source, ...names], { maxBuffer: 10_000_000 })
    if (format === 'ustar' && made.status !== 0) continue
    await unpack(archive([made.stdout]), join(here, format))
    expect(readFileSync(join(here, format, 'sub', LONG, 'é'), 'utf8')).toBe('deep')
  }
})

test('pieces of any size give the same', async () => {
  for (const size of [1, 511, 512, 513, 100_000]) {
    await unpack(archive([entry('a', 'one'), entry(LONG, 'two'), entry('b', 'x'.repeat(1024))], size), join(here, String(size)))
    expect(['a', LONG, 'b'].map((name) => readFileSync(join(here, String(size), name), 'utf8').length)).toEqual([3, 3, 1024])
  }
})

test.each(['../out-of-it', '/tmp/absolute', 'a/../../out-of-it', 'a/..'])('the name %s is refused', async (name) => {
  await expect(unpack(archive([entry(name, 'x')]))).rejects.toThrow('leads out of it')
  expect(existsSync(join(here, 'out-of-it'))).toBe(false)
})

test('nothing is written through a link, whether it came with the archive or was there', async () => {
  mkdirSync(join(here, 'elsewhere'))
  const link = entry('door', '', { type: 'symlink', target: '../elsewhere' })
  await expect(unpack(archive([link, entry('door/file', 'x')]))).rejects.toThrow()
  mkdirSync(join(here, 'there'))
  symlinkSync('../elsewhere', join(here, 'there', 'door'))
  await expect(unpack(archive([entry('door/file', 'x')]), join(here, 'there'))).rejects.toThrow('is no directory')
  symlinkSync('../elsewhere/file', join(here, 'there', 'file'))
  await unpack(archive([entry('file', 'mine')]), join(here, 'there'))
  expect(readFileSync(join(here, 'there', 'file'), 'utf8')).toBe('mine')
  expect(readdirSync(join(here, 'elsewhere'))).toEqual([])
})

test('devices and pipes are left out, and no file gets rights that it should not have', async () => {
  const device = typed(entry('device'), '3')
  const pipe = typed(entry('pipe'), '6')
  const bold = entry('bold', 'x', { mode: 0o6777 })
  expect(await unpack(archive([device, pipe, bold]))).toEqual({ files: 1, skipped: ['device', 'pipe'] })
  expect(statSync(join(here, 'out', 'bold')).mode & 0o7000).toBe(0)
})

test('a hard link is a second name of a file in the archive, and of nothing else', async () => {
  const link = (target: string) => typed(entry('second', '', { type: 'symlink', target }), '1')
  await unpack(archive([entry('first', 'x'), link('first')]))
  expect(readFileSync(join(here, 'out', 'second'), 'utf8')).toBe('x')
  await expect(unpack(archive([link('../../etc/passwd')]), join(here, 'other'))).rejects.toThrow('leads out of it')
  await expect(unpack(archive([link('missing')]), join(here, 'other'))).rejects.toThrow()
})

test.each([
  ['no archive', [Buffer.from('hello'.repeat(200))]],
  ['one that ends too early', [entry('a', 'x'.repeat(5000)).subarray(0, 1000)]],
])('%s is refused', async (_, pieces) => {
  async function* cut(): AsyncGenerator<Uint8Array> {
    yield* pieces
  }
  await expect(unpack(cut())).rejects.toThrow('cannot be unpacked')
})
