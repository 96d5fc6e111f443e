/** What of a project is copied, as an archive that tar reads: all that counts, nothing that leads out, and never without bounds. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MAXIMUM_BYTES, withProject } from './project-entries.ts'
import { tarArchive } from './tar-archive.ts'

let directory: string
let source: string

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-project-')))
  source = join(directory, 'project')
  mkdirSync(source)
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function put(path: string, content: string | Buffer = 'x', mode = 0o644): void {
  mkdirSync(dirname(join(source, path)), { recursive: true })
  writeFileSync(join(source, path), content)
  chmodSync(join(source, path), mode)
}
const listed = () => withProject(source, async (_, list) => list)
const names = async () => (await listed()).entries.map((entry) => entry.names.join('/'))

async function unpacked(meanwhile: () => void = () => undefined): Promise<string> {
  const into = join(directory, 'copy')
  mkdirSync(into)
  const pieces: Buffer[] = []
  await withProject(source, async (top, { entries }) => {
    meanwhile()
    for await (const piece of tarArchive(top, entries, () => undefined)) pieces.push(Buffer.from(piece))
  })
  execFileSync('tar', ['-x', '-p', '-f', '-', '-C', into], { input: Buffer.concat(pieces) })
  return into
}

describe('the copy of a project', () => {
  test('has its files byte for byte, with their modes and their names, however long', async () => {
    const long = `${'directory-of-a-long-name/'.repeat(6)}and-a-file-with-a-name-of-its-own.txt`
    const bytes = Buffer.from(Array.from({ length: 300_001 }, (_, index) => index % 251))
    put('run.sh', '#!/bin/sh\n', 0o755)
    put('данные/a b\n"c".txt', 'é')
    put(long, 'long')
    put('big.bin', bytes)
    put('secret', 's', 0o400)
    mkdirSync(join(source, 'empty'))
    symlinkSync(long, join(source, 'near'))
    symlinkSync(join(source, 'run.sh'), join(source, 'empty', 'absolute'))
    const copy = await unpacked()
    expect(readFileSync(join(copy, 'данные/a b\n"c".txt'), 'utf8')).toBe('é')
    expect(readFileSync(join(copy, 'near'), 'utf8')).toBe('long')
    expect(readlinkSync(join(copy, 'empty/absolute'))).toBe('../run.sh')
    expect(readFileSync(join(copy, 'big.bin')).equals(bytes)).toBe(true)
    expect([statSync(join(copy, 'run.sh')).mode & 0o777, statSync(join(copy, 'secret')).mode & 0o777]).toEqual([0o755, 0o600])
  })

  test('leaves out histories, caches, environments and what is installed anew', async () => {
    for (const path of [
      '.git/config',
      'a/__pycache__/x.pyc',
      'b.pyc',
      'node_modules/x/index.js',
      'p/node_modules/y.js',
      '.cache/x',
      '.tmp/x',
    ])
      put(path)
    for (const path of ['.venv/pyvenv.cfg', 'venv/pyvenv.cfg', 'env/pyvenv.cfg', '.venv/bin/python', 'env/lib/x.py']) put(path)
    for (const path of ['a/env/__init__.py', '.env', 'dist/index.js', '.gitignore', 'a/.cache/x']) put(path)
    expect(await names()).toEqual([
      '.env',
      '.gitignore',
      'a',
      'a/.cache',
      'a/.cache/x',
      'a/env',
      'a/env/__init__.py',
      'dist',
      'dist/index.js',
      'p',
    ])
  })

  test('leaves out links that lead out, and says so', async () => {
    writeFileSync(join(directory, 'secret'), 'of the host')
    for (const [name, target] of [
      ['up', '../secret'],
      ['absolute', '/etc/passwd'],
      ['round', '../project/../secret'],
      ['self', '.'],
      ['in', 'sub/../x'],
    ] as const)
      symlinkSync(target, join(source, name))
    execFileSync('mkfifo', [join(source, 'pipe')])
    const { entries, notes } = await listed()
    expect(entries.map((entry) => entry.names[0])).toEqual(['in', 'self'])
    expect(notes).toEqual([
      "'absolute' is not copied: it is a link that leads out of the project",
      "'pipe' is not copied: it is neither a file nor a directory",
      "'round' is not copied: it is a link that leads out of the project",
      "'up' is not copied: it is a link that leads out of the project",
    ])
  })

  test('is read from the files that were listed: what becomes a link meanwhile is refused', async () => {
    writeFileSync(join(directory, 'secret'), 'of the host')
    put('a/file')
    const swapped = unpacked(() => {
      rmSync(join(source, 'a'), { recursive: true })
      symlinkSync(directory, join(source, 'a'))
    })
    await expect(swapped).rejects.toMatchObject({ code: 'mount_refused', message: "'a/file' was changed while the project was copied" })
  })

  test('is not made of a directory that became a link', async () => {
    const other = join(directory, 'link')
    symlinkSync(directory, other)
    await expect(withProject(join(other, 'project'), async () => undefined)).rejects.toMatchObject({ code: 'mount_refused' })
  })

  test('of a directory that is gone is refused as a mount is', async () => {
    await expect(withProject(join(source, 'gone'), async () => undefined)).rejects.toMatchObject({
      code: 'mount_refused',
      message: expect.stringContaining('cannot be read (ENOENT)'),
    })
  })

  test('stays whole when a file shrinks or grows meanwhile', async () => {
    put('a', 'x'.repeat(1000))
    put('b', 'y')
    put('c', 'last')
    const copy = await unpacked(() => {
      truncateSync(join(source, 'a'), 3)
      writeFileSync(join(source, 'b'), 'y'.repeat(5000))
    })
    expect(readFileSync(join(copy, 'a'), 'utf8')).toBe(`xxx${'\0'.repeat(997)}`)
    expect([readFileSync(join(copy, 'b'), 'utf8'), readFileSync(join(copy, 'c'), 'utf8')]).toEqual(['y', 'last'])
  })

  test('is refused whole when it is too large', async () => {
    put('huge', '')
    truncateSync(join(source, 'huge'), MAXIMUM_BYTES + 1)
    await expect(listed()).rejects.toMatchObject({ code: 'payload_too_large', message: expect.stringContaining('box.host_path') })
  })

  test('has another mark when something changed that is copied, and the same otherwise', async () => {
    put('a/file', 'one')
    const { mark } = await listed()
    put('a/__pycache__/x.pyc')
    put('node_modules/x')
    expect((await listed()).mark).toBe(mark)
    put('a/file', 'two')
    expect((await listed()).mark).not.toBe(mark)
  })

  test('never waits for a pipe', async () => {
    put('a/file')
    const swapped = unpacked(() => {
      rmSync(join(source, 'a/file'))
      execFileSync('mkfifo', [join(source, 'a/file')])
    })
    await expect(swapped).rejects.toMatchObject({ code: 'mount_refused' })
  })
})
