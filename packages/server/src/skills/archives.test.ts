/** Skills that come as zip archives: what is taken, what is refused, and that a refusal leaves nothing. */
import { randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { zipSync } from 'fflate'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { targetOf } from './archive-packages.ts'
import { openSkillsLaboratory } from './contract/skills-laboratory.ts'
import { writeZip } from './contract/zip-writer.ts'
import type { WrittenEntry } from './contract/zip-writer.ts'

let laboratory: ReturnType<typeof openSkillsLaboratory>
beforeEach(() => {
  laboratory = openSkillsLaboratory()
})
afterEach(() => laboratory.close())

const filename = 'my pack.zip'
const skill = (name: string) => `---\nname: ${name}\n---\n${name} body`
const one = (path = 'SKILL.md', name = 'one'): WrittenEntry => ({ name: path, content: skill(name) })

/** What both ways to use an archive say of it; nothing is left of it. */
async function refusal(archive: Uint8Array, wish: { readonly sourceSubdir?: string; readonly sourcePaths?: readonly string[] } = {}) {
  const { store, tree, root } = laboratory
  const before = tree()
  const said = await store.installZip(archive, { filename, ...wish }).then(
    () => 'installed',
    (error: unknown) => error,
  )
  expect(tree()).toEqual(before)
  expect(readdirSync(join(root, '.making'))).toEqual([])
  return said
}

const refused = (sentence: RegExp, code = 'invalid_request') => expect.objectContaining({ code, message: expect.stringMatching(sentence) })

describe('installing', () => {
  test('takes the only package, with its files and their right to run', async () => {
    const { store, tree, root } = laboratory
    const archive = writeZip([
      one(),
      { name: 'bin/', mode: 0o040755 },
      { name: 'bin/run', content: '#!', mode: 0o100755 },
      { name: 'plain', mode: 0 },
    ])
    expect(await store.previewZip(archive, { filename })).toEqual([
      expect.objectContaining({ name: 'one', sourcePath: '', packageRoot: join(root, 'my-pack-upload'), instructions: 'one body' }),
    ])
    expect(tree()).toEqual([])
    expect(await store.installZip(archive, { filename })).toEqual([
      expect.objectContaining({ name: 'one', packageRoot: join(root, 'my-pack-upload') }),
    ])
    expect(tree()).toEqual(['my-pack-upload', ...['SKILL.md', 'bin', 'bin/run', 'plain'].map((path) => `my-pack-upload/${path}`)])
    expect(statSync(join(root, 'my-pack-upload/bin/run')).mode & 0o7777).toBe(0o755)
    expect(statSync(join(root, 'my-pack-upload/plain')).mode & 0o7777).toBe(0o644)
    expect(await refusal(archive)).toEqual(refused(/there is a skill 'one' already/, 'name_taken'))
  })

  test('takes archives of others, stored or packed, from a file or from memory, and out of the one directory that holds all', async () => {
    const { store, put, root } = laboratory
    const text = new TextEncoder().encode(skill('fflate'))
    for (const level of [0, 9] as const) {
      const archive = zipSync({ 'top/SKILL.md': text, 'top/data/large': new Uint8Array(randomBytes(500_000)) }, { level })
      const path = put(`archive-${level}.zip`, archive)
      expect(await store.installZip({ path }, { filename: 'a.zip' })).toMatchObject([
        { name: 'fflate', packageRoot: join(root, 'a-upload') },
      ])
      expect(statSync(join(root, 'a-upload/data/large')).size).toBe(500_000)
      await store.remove('fflate')
    }
  })

  test('of several packages those that are named', async () => {
    const { store, tree } = laboratory
    const archive = writeZip([
      one('pack/skills/one/SKILL.md'),
      one('pack/skills/two/skill.md', 'two'),
      one('pack/skills/a/b/c/SKILL.md', 'deep'),
    ])
    expect((await store.previewZip(archive, { filename })).map(({ name, sourcePath }) => [name, sourcePath])).toEqual([
      ['one', 'skills/one'],
      ['two', 'skills/two'],
    ])
    expect(await refusal(archive)).toEqual(refused(/^source_path: name the packages .* 'skills\/one', 'skills\/two'$/))
    expect(await refusal(archive, { sourcePaths: ['three'] })).toEqual(refused(/no package 'three'/))
    expect(await refusal(archive, { sourcePaths: ['skills/one', './skills/one'] })).toEqual(refused(/named twice/))
    expect(await refusal(archive, { sourcePaths: ['../one'] })).toEqual(refused(/leads out/))
    await store.installZip(archive, { filename, sourcePaths: ['skills/one', 'skills/two'] })
    expect(tree().filter((path) => path.endsWith('.md'))).toEqual(['my-pack-one-upload/SKILL.md', 'my-pack-two-upload/skill.md'])
  })

  test('only what lies in a directory of the archive, where one is named', async () => {
    const { store } = laboratory
    const archive = writeZip([one('repo/skills/one/SKILL.md'), one('repo/other/two/SKILL.md', 'two')])
    expect(await store.previewZip(archive, { filename, sourceSubdir: 'other' })).toMatchObject([{ name: 'two', sourcePath: 'two' }])
    expect(await store.installZip(archive, { filename, sourceSubdir: 'skills/one', targetSuffix: 'x' })).toMatchObject([
      { name: 'one', packageRoot: join(laboratory.root, 'my-pack-x') },
    ])
    for (const sourceSubdir of ['missing', 'skills/one/SKILL.md'])
      expect(await refusal(archive, { sourceSubdir })).toEqual(refused(/^source_subdir: /))
    expect(await refusal(archive, { sourceSubdir: '../..' })).toEqual(refused(/^source_subdir: .* leads out/))
  })

  test('all or none: a name or a directory that is taken keeps the others out', async () => {
    const { store, pack } = laboratory
    await store.create({ name: 'two' })
    const archive = writeZip([one('a/SKILL.md'), one('b/SKILL.md', 'two')])
    expect(await refusal(archive, { sourcePaths: ['a', 'b'] })).toEqual(refused(/there is a skill 'two'/, 'name_taken'))
    await store.remove('two')
    pack('my-pack-b-upload', skill('in-the-way'))
    expect(await refusal(archive, { sourcePaths: ['a', 'b'] })).toEqual(refused(/a directory 'my-pack-b-upload'/, 'name_taken'))
    const twins = writeZip([one('a/SKILL.md', 'same'), one('b/SKILL.md', 'same')])
    expect(await refusal(twins, { sourcePaths: ['a', 'b'] })).toEqual(refused(/the same name/, 'name_taken'))
  })

  test('directories get names of letters and digits, however the archive is called', () => {
    const names = [
      ['my pack.zip', 'one', 'my-pack-one-upload'],
      ['one.zip', 'a/one', 'one-upload'],
      ['../../etc/passwd', '', 'passwd-upload'],
      ['C:\\x\\größe 1.zip', '', 'größe-1-upload'],
      ['.zip', '', 'zip-upload'],
      ['???', 'a', 'uploaded-skill-a-upload'],
      ['x'.repeat(300), 'y'.repeat(300), `${'x'.repeat(20)}-${'y'.repeat(32)}-upload`],
    ] as const
    for (const [file, sourcePath, target] of names) expect(targetOf(sourcePath, { filename: file })).toBe(target)
    expect(targetOf('', { filename: 'a.zip', targetSuffix: '' })).toBe('a')
    expect(targetOf('', { filename: 'a.zip', targetSuffix: '../b' })).toBe('a-b')
  })

  test('a package that does not say its name has that of its directory', async () => {
    expect(await laboratory.store.installZip(writeZip([{ name: 'SKILL.md', content: 'x' }]), { filename })).toMatchObject([
      { name: 'my-pack-upload' },
    ])
  })
})

describe('an archive is refused', () => {
  test('that is none, is cut off, or holds no skill', async () => {
    const whole = writeZip([one()])
    expect(await refusal(Buffer.from('no zip'))).toEqual(refused(/cannot be read as a zip/))
    expect(await refusal(new Uint8Array())).toEqual(refused(/cannot be read as a zip/))
    for (let cut = 1; cut < whole.length; cut += 7) expect(await refusal(whole.subarray(0, cut))).toEqual(refused(/zip/))
    expect(await refusal(writeZip([{ name: 'README.md', content: 'x' }]))).toEqual(refused(/holds no directory with a SKILL.md/))
    expect(await refusal(writeZip([]))).toEqual(refused(/holds no directory with a SKILL.md/))
    expect(await refusal(writeZip([{ name: 'SKILL.md', content: '---\nname: a b\n---\n' }]))).toEqual(refused(/calls itself/))
  })

  test.each([
    ['an absolute one', '/etc/passwd'],
    ['one that leads up', '../x'],
    ['one that leads up on the way', 'a/../../x'],
    ['a drive', 'C:/x'],
    ['a backslash', 'a\\b'],
    ['a NUL', 'a\0b'],
    ['a control character', 'a\u001bb'],
    ['an empty one', ''],
    ['nothing but dots', './'],
    ['one longer than a file system takes', `${'x'.repeat(256)}/y`],
    ['one deeper than anybody needs', 'x/'.repeat(40) + 'y'],
  ])('with a name that is %s', async (_what, name) => {
    expect(await refusal(writeZip([one(), { name, content: 'x', mode: 0 }]))).toEqual(refused(/^archive: /))
  })

  test.each([
    ['a symbolic link', { mode: 0o120777 }, /link or a special file/],
    ['a device', { mode: 0o020666 }, /link or a special file/],
    ['a pipe', { mode: 0o010666 }, /link or a special file/],
    ['a socket', { mode: 0o140666 }, /link or a special file/],
    ['a directory that is called a file', { mode: 0o040755 }, /called a directory in one place/],
    ['encrypted', { flags: 0x801 }, /is encrypted/],
    ['packed in an unknown way', { method: 12 }, /packed in a way that is not known/],
    ['shorter than it says', { size: 100, packedSize: 10 }, /is not what the archive says|zip/],
    ['longer than it says', { size: 1 }, /is not what the archive says/],
    ['of another checksum', { crc: 1 }, /is not what the archive says/],
    ['stored with two sizes', { method: 0, size: 2 }, /two sizes|compressed/],
  ] as const)('with an entry that is %s', async (_what, wrong, sentence) => {
    expect(await refusal(writeZip([one(), { name: 'entry', content: 'some content', ...wrong }]))).toEqual(refused(sentence))
  })

  test('with a directory that has content', async () => {
    expect(await refusal(writeZip([one(), { name: 'd/', content: 'x', mode: 0o040755 }]))).toEqual(refused(/a directory with content/))
    expect(await refusal(writeZip([one(), { name: 'd/', mode: 0o100644 }]))).toEqual(refused(/called a directory in one place/))
  })

  test('with a name that is there twice, in whatever spelling, or as a file and a directory', async () => {
    for (const [first, second] of [
      ['a', 'a'],
      ['a', './a'],
      ['a/b', 'a//b'],
      ['a', 'a/b'],
      ['a/b', 'a'],
    ] as const)
      expect(await refusal(writeZip([one(), { name: first, content: 'x' }, { name: second, content: 'y' }])), `${first} ${second}`).toEqual(
        refused(/is there twice|lies in/),
      )
  })

  test('that is larger than 20 MiB, has more than 512 entries, 16 MiB in one or 64 MiB in all', async () => {
    expect(await refusal(new Uint8Array(20 * 1024 * 1024 + 1))).toEqual(refused(/larger than .* \(20 MiB\)/, 'payload_too_large'))
    const many = (count: number) =>
      writeZip([one(), ...Array.from({ length: count - 1 }, (_, index) => ({ name: `f${index}`, method: 0 }))])
    expect(await refusal(many(513))).toEqual(refused(/513 entries/, 'payload_too_large'))
    const noise = randomBytes(200_000)
    const claims = (size: number) => ({ name: `c${size}`, content: noise, size })
    expect(await refusal(writeZip([one(), claims(16 * 1024 * 1024 + 1)]))).toEqual(
      refused(/larger than .* \(16 MiB\)/, 'payload_too_large'),
    )
    const five = Array.from({ length: 5 }, (_, index) => claims(16 * 1024 * 1024 - index))
    expect(await refusal(writeZip([one(), ...five]))).toEqual(refused(/more than .* \(64 MiB\)/, 'payload_too_large'))
    expect(await laboratory.store.installZip(many(512), { filename })).toMatchObject([{ name: 'one' }])
  })

  test('that is packed to less than a hundredth, in one entry or by entries that share their bytes', async () => {
    expect(await refusal(writeZip([one(), { name: 'zeros', content: new Uint8Array(1_000_000) }]))).toEqual(
      refused(/'zeros' is packed to less than/),
    )
    const text = randomBytes(2_000).toString('hex').repeat(10)
    const shared = Array.from({ length: 400 }, (_, index) => ({ name: `s${index}`, content: text, sharedWith: 1 }))
    expect(await refusal(writeZip([one(), { name: 's', content: text }, ...shared]))).toEqual(
      refused(/^archive: it is packed to less than/),
    )
  })

  test('whose directory of entries lies about their number', async () => {
    expect(await refusal(writeZip([one(), { name: 'a' }], { count: 3 }))).toEqual(refused(/zip/))
    expect(await refusal(writeZip([one()], { count: 0xffff }))).toEqual(refused(/entries|zip/, expect.any(String)))
  })
})
