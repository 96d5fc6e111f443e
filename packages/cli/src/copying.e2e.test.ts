/** `cp` and `files` with real files, byte for byte, both ways. */
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  linkSync,
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
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { onBubblewrap, PATIENCE_MS } from './contract/on-bubblewrap.ts'

onBubblewrap('holdfast cp and files', (stage) => {
  const holdfast = (args: readonly string[], input?: string | Uint8Array) => stage().server.holdfast(args, input)
  const ok = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await holdfast(args)
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
    return stdout
  }
  let here: string
  beforeEach(() => {
    here = mkdtempSync(join(tmpdir(), 'holdfast-copy-'))
  })
  afterEach(() => rmSync(here, { recursive: true, force: true }))

  test('a large file comes back as it was, with its mode', async () => {
    const content = randomBytes(20_000_000)
    writeFileSync(join(here, 'large'), content, { mode: 0o750 })
    await ok('cp', join(here, 'large'), 'large:')
    expect(await ok('files', 'ls', 'large:')).toMatch(/-rwxr-x--- +user +19\.1 MiB .*\/workspace\/large\n$/)
    await ok('cp', 'large:large', join(here, 'back'))
    expect(readFileSync(join(here, 'back')).equals(content)).toBe(true)
    expect(statSync(join(here, 'back')).mode & 0o777).toBe(0o750)
    // Into a directory it keeps its name, and nothing else is left there.
    mkdirSync(join(here, 'into'))
    await ok('cp', 'large:/workspace/large', join(here, 'into'))
    expect(readdirSync(join(here, 'into'))).toEqual(['large'])
  })

  test('a directory goes in and comes out with everything in it', async () => {
    const source = join(here, 'tree')
    mkdirSync(join(source, 'deep', 'x'.repeat(120)), { recursive: true })
    writeFileSync(join(source, 'a b.txt'), 'first')
    linkSync(join(source, 'a b.txt'), join(source, 'again'))
    symlinkSync('a b.txt', join(source, 'link'))
    writeFileSync(join(source, 'deep', 'x'.repeat(120), 'é.bin'), randomBytes(1000))
    chmodSync(join(source, 'a b.txt'), 0o755)
    await ok('cp', source, 'tree:')
    expect(await ok('exec', '-s', 'tree', '-c', 'cat tree/link; find tree -type f | wc -l')).toBe('first3\n')
    mkdirSync(join(here, 'out'))
    await ok('cp', 'tree:tree', join(here, 'out'))
    const out = join(here, 'out', 'tree')
    const namesIn = (directory: string) => new Set(readdirSync(directory, { recursive: true, encoding: 'utf8' }))
    expect(namesIn(out)).toEqual(namesIn(source))
    expect(readlinkSync(join(out, 'link'))).toBe('a b.txt')
    expect(statSync(join(out, 'a b.txt')).mode & 0o777).toBe(0o755)
    const deep = join('deep', 'x'.repeat(120), 'é.bin')
    expect(readFileSync(join(out, deep)).equals(readFileSync(join(source, deep)))).toBe(true)
    // What is in it, and not itself.
    await ok('cp', `${source}/.`, 'tree:flat')
    expect(await ok('files', 'ls', 'tree:flat', '-q')).toContain('/workspace/flat/a b.txt\n')
  })

  test('what a sandbox made to climb out of the directory stays in it, or is refused', async () => {
    const script = [
      'mkdir -p evil; cd evil; ln -s /etc out; echo inside > file; mkfifo pipe; chmod 6755 file',
      'ln -s ../../../../tmp/holdfast-climbed up',
    ].join('; ')
    await ok('exec', '-s', 'evil', '-c', script)
    const { code, stderr } = await holdfast(['cp', 'evil:evil', join(here, 'evil')])
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('were left out') })
    expect(readlinkSync(join(here, 'evil', 'out'))).toBe('/etc')
    expect(statSync(join(here, 'evil', 'file')).mode & 0o7000).toBe(0)
    expect(existsSync(join(here, 'evil', 'pipe'))).toBe(false)
    // A link that is here already is not written through.
    await ok('exec', '-s', 'evil', '-c', 'rm -r evil; mkdir -p evil/out; echo written > evil/out/passwd')
    expect(await holdfast(['cp', 'evil:evil/.', join(here, 'evil')])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is no directory'),
    })
  })

  test('stdin and stdout are files too', async () => {
    const content = randomBytes(300_000)
    expect((await holdfast(['cp', '-', 'piped:dir/raw'], content)).code).toBe(0)
    expect((await holdfast(['cp', 'piped:dir/raw', '-'])).bytes.equals(content)).toBe(true)
    expect((await holdfast(['files', 'cat', 'piped:dir/raw'])).bytes.equals(content)).toBe(true)
    const archive = await holdfast(['cp', 'piped:dir', '-'])
    expect(archive.bytes.subarray(257, 262).toString()).toBe('ustar')
    expect((await holdfast(['cp', '-', 'piped:'], content)).code).toBe(2)
  })

  test('files are written, moved, looked at and removed', async () => {
    const { stdout } = await holdfast(['files', 'put', 'kept:notes/a.txt', '-o', 'json'], 'one\n')
    expect(JSON.parse(stdout)).toMatchObject({ path: '/workspace/notes/a.txt', size: 4, mode: '0644', target: null })
    expect((await holdfast(['files', 'put', '--append', 'kept:notes/a.txt'], 'two\n')).code).toBe(0)
    expect(await ok('files', 'cat', 'kept:notes/a.txt')).toBe('one\ntwo\n')
    expect((await holdfast(['files', 'put', '--exclusive', 'kept:notes/a.txt'], 'three')).code).toBe(1)
    expect(await ok('files', 'mkdir', '-p', 'kept:x/y', '-q')).toBe('/workspace/x/y\n')
    expect(await ok('files', 'mv', 'kept:notes/a.txt', 'x/y/b.txt', '-q')).toBe('/workspace/x/y/b.txt\n')
    expect(await ok('files', 'stat', '-s', 'kept', ':x/y/b.txt')).toMatch(/^path +\/workspace\/x\/y\/b\.txt\ntype +file\nsize +8 /)
    expect((await holdfast(['files', 'rm', 'kept:x'])).code).toBe(1)
    expect(await ok('files', 'rm', '-r', 'kept:x')).toBe('')
    expect(await holdfast(['files', 'cat', 'kept:x/y/b.txt'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('files ls'),
    })
  })

  test('changes are told until it is left', async () => {
    await ok('exec', '-s', 'watched', '--', 'true')
    const watching = stage().server.start(['files', 'watch', 'watched:', '-o', 'json'])
    const lines = watching.stdout?.setEncoding('utf8')[Symbol.asyncIterator]()
    const told = lines?.next()
    await expect
      .poll(
        async () => {
          await holdfast(['exec', '-s', 'watched', '-c', 'rm -f made; touch made'])
          return Promise.race([told, Promise.resolve(null)])
        },
        { timeout: PATIENCE_MS },
      )
      .toMatchObject({ value: expect.stringContaining('/workspace/made') })
    watching.kill('SIGINT')
    expect(await once(watching, 'exit')).toEqual([130, null])
  })
})
