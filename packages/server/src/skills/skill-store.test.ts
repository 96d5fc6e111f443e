/** The skills of a tenant on disk: what is listed, made, changed and removed, and what hostile content cannot do. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSkillsLaboratory } from './contract/skills-laboratory.ts'
import { sweepSkills } from './skill-store.ts'
import type { PackageEntry } from './skill-store.ts'

let laboratory: ReturnType<typeof openSkillsLaboratory>
beforeEach(() => {
  laboratory = openSkillsLaboratory()
})
afterEach(() => laboratory.close())

const invalid = (title: RegExp) => ({ code: 'invalid_request', message: expect.stringMatching(title) })
const names = async () => (await laboratory.store.list()).map(({ name }) => name)

describe('listing', () => {
  test('finds packages at any depth up to six, the newest first, with what they say of themselves', async () => {
    const { store, pack, root } = laboratory
    const deep = pack('a/b/c/d/e/deep', '---\nname: deep-one\n---\nbody')
    pack('a/b/c/d/e/f/too-deep')
    const shown = pack('shown', '---\nname: shown\ndisplay_name: Shown\ndescription: d\n---\n\n# hi\nbody')
    utimesSync(join(deep, 'SKILL.md'), 1, 1)
    expect(await store.list()).toEqual([
      {
        ...{ name: 'shown', displayName: 'Shown', description: 'd', instructions: '# hi\nbody', packageRoot: shown },
        ...{ entryFile: 'SKILL.md', pythonProject: false, createdAt: expect.any(Date), updatedAt: statSync(join(shown, 'SKILL.md')).mtime },
      },
      expect.objectContaining({ name: 'deep-one', packageRoot: join(root, 'a/b/c/d/e/deep'), updatedAt: new Date(1000) }),
    ])
    expect(await store.get('deep-one')).toMatchObject({ displayName: 'deep-one' })
    expect(await store.get('nobody')).toBeNull()
  })

  test('a name falls back to the directory, SKILL.md goes before skill.md, and nothing below a package is one', async () => {
    const { store, pack, put } = laboratory
    pack('by-directory', '# no front matter')
    pack('by-directory/inner', '---\nname: inner\n---\n')
    put('tenants/tnt_a/small/skill.md', '---\nname: small\n---\nsmall')
    put('tenants/tnt_a/both/skill.md', '---\nname: wrong\n---\n')
    pack('both', '---\nname: both\n---\n')
    expect((await names()).toSorted()).toEqual(['both', 'by-directory', 'small'])
    expect(await store.get('small')).toMatchObject({ entryFile: 'skill.md' })
  })

  test('what cannot be read is left out and said in the log; the rest is listed', async () => {
    const { pack, put, logged, root } = laboratory
    pack('good')
    pack('no-yaml', '---\na: [\n---\n')
    pack('bad-name', '---\nname: ../x\n---\n')
    put('tenants/tnt_a/no-text/SKILL.md', Uint8Array.of(0xff, 0xfe))
    put('tenants/tnt_a/large/SKILL.md', 'x'.repeat(1024 * 1024 + 1))
    put('tenants/tnt_a/largest/SKILL.md', 'x'.repeat(1024 * 1024))
    mkdirSync(join(root, 'directory', 'SKILL.md'), { recursive: true })
    expect((await names()).toSorted()).toEqual(['good', 'largest'])
    expect(logged.filter((line) => line.includes('skill-skipped')).length).toBe(4)
  })

  test('of two with one name the newer counts', async () => {
    const { pack, store } = laboratory
    const old = pack('one', '---\nname: same\n---\nold')
    utimesSync(join(old, 'SKILL.md'), 1, 1)
    pack('two', '---\nname: same\n---\nnew')
    expect((await store.list()).map(({ instructions }) => instructions)).toEqual(['new'])
  })

  test('no link is followed: not a directory, not an entry file, not the name of a package', async () => {
    const { put, root, store } = laboratory
    put('outside/SKILL.md', '---\nname: outside\n---\nsecret')
    symlinkSync(join(root, '../../outside'), join(root, 'linked'))
    mkdirSync(join(root, 'by-file'))
    symlinkSync(join(root, '../../outside/SKILL.md'), join(root, 'by-file', 'SKILL.md'))
    execFileSync('mkfifo', [join(root, 'by-file', 'skill.md')])
    expect(await store.list()).toEqual([])
  })

  test('a Python project is known by its manifests', async () => {
    const { pack, store } = laboratory
    for (const manifest of ['requirements.txt', 'pyproject.toml', 'setup.py', 'setup.cfg'])
      writeFileSync(join(pack(manifest.replace('.', '-')), manifest), '')
    mkdirSync(join(pack('has-venv'), '.venv'))
    writeFileSync(join(pack('file-venv'), '.venv'), '')
    pack('plain')
    const projects = (await store.list()).filter(({ pythonProject }) => pythonProject).map(({ name }) => name)
    expect(projects.toSorted()).toEqual(['has-venv', 'pyproject-toml', 'requirements-txt', 'setup-cfg', 'setup-py'])
  })
})

describe('creating', () => {
  test('makes a package of a name and a text', async () => {
    const { store, read, tree, root } = laboratory
    const made = await store.create({ name: 'demo', displayName: 'Demo', description: 'd', instructions: '# hi' })
    expect(made).toMatchObject({ name: 'demo', packageRoot: join(root, 'demo'), entryFile: 'SKILL.md', instructions: '# hi' })
    expect(read('demo', 'SKILL.md')).toBe('---\nname: demo\ndisplay_name: Demo\ndescription: d\n---\n\n# hi')
    expect(tree()).toEqual(['demo', 'demo/SKILL.md'])
    expect(await store.get('demo')).toEqual(made)
  })

  test('names are letters and digits of any script, - and _, up to 64', async () => {
    const { store } = laboratory
    for (const name of ['größe-1', '技能_2', 'x'.repeat(64)]) expect((await store.create({ name })).name).toBe(name)
    for (const name of ['', 'a b', '../x', 'a/b', '.', 'a.b', 'x'.repeat(65), 'a\0', '🦞', '𐌀'.repeat(64)])
      await expect(store.create({ name }), name).rejects.toMatchObject(invalid(/^name: /))
  })

  test('a taken name or directory is refused, and nothing is left behind', async () => {
    const { store, pack, tree } = laboratory
    pack('elsewhere/x', '---\nname: taken\n---\n')
    mkdirSync(join(laboratory.root, 'busy'))
    const before = tree()
    await expect(store.create({ name: 'taken' })).rejects.toMatchObject({ code: 'name_taken' })
    await expect(store.create({ name: 'busy' })).rejects.toMatchObject({ code: 'name_taken' })
    await expect(store.create({ name: 'large', instructions: 'x'.repeat(1024 * 1024) })).rejects.toMatchObject({
      code: 'payload_too_large',
    })
    expect(tree()).toEqual(before)
    expect(readdirSync(join(laboratory.root, '.making'))).toEqual([])
  })

  test('a directory in the root becomes a package in place; blank fields are its own', async () => {
    const { store, put, read, root } = laboratory
    put('tenants/tnt_a/raw/skill.md', '---\nlicense: MIT\nname: other\ndescription: kept\n---\nkept too')
    const made = await store.create({ name: 'mine', packageRoot: join(root, 'raw'), description: ' ', displayName: 'Mine' })
    expect(made).toMatchObject({ name: 'mine', displayName: 'Mine', description: 'kept', instructions: 'kept too', entryFile: 'skill.md' })
    expect(read('raw', 'skill.md')).toBe('---\nlicense: MIT\nname: mine\ndescription: kept\ndisplay_name: Mine\n---\n\nkept too')
    mkdirSync(join(root, 'bare'))
    expect(await store.create({ name: 'bare', packageRoot: join(root, 'bare'), instructions: 'x' })).toMatchObject({ instructions: 'x' })
  })

  test('a directory that is not in the root, or is part of a package, is refused', async () => {
    const { store, put, pack, root, ground } = laboratory
    put('tenants/tnt_b/foreign/SKILL.md', '')
    put('tenants/tnt_a-not/SKILL.md', '')
    pack('whole/part')
    mkdirSync(join(pack('outer'), 'inner'))
    symlinkSync(join(ground, 'tenants/tnt_b/foreign'), join(root, 'linked'))
    for (const packageRoot of [
      ...['/etc', '/', root, join(root, '..'), join(root, '../tnt_b/foreign'), join(ground, 'tenants/tnt_a-not'), join(root, 'linked')],
      ...[join(root, 'missing'), join(root, '.making'), join(root, 'whole'), join(root, 'outer/inner'), 'a\0b', '../tnt_b/foreign'],
    ])
      await expect(store.create({ name: 'x', packageRoot }), packageRoot).rejects.toMatchObject(invalid(/^package_root: /))
    expect(readFileSync(join(ground, 'tenants/tnt_b/foreign/SKILL.md'), 'utf8')).toBe('')
  })
})

describe('changing', () => {
  test('an update keeps what it does not name, and every key that is not ours', async () => {
    const { store, pack, read } = laboratory
    pack('demo', '---\nversion: 3\nname: demo\ndescription: d\n---\nbody')
    expect(await store.update('demo', { description: 'new' })).toMatchObject({ description: 'new', instructions: 'body' })
    expect(read('demo', 'SKILL.md')).toBe('---\nversion: 3\nname: demo\ndescription: new\n---\n\nbody')
    expect(await store.update('demo', { description: '', instructions: '' })).toMatchObject({ description: '', instructions: '' })
  })

  test('an update of a skill.md package writes that file and no second one', async () => {
    const { store, put, tree } = laboratory
    put('tenants/tnt_a/small/skill.md', '---\nname: small\n---\nold')
    await store.update('small', { instructions: 'new' })
    expect(tree()).toEqual(['small', 'small/skill.md'])
    expect(await store.get('small')).toMatchObject({ instructions: 'new' })
  })

  test('name and directory stay; an unknown skill is not found', async () => {
    const { store, root } = laboratory
    await store.create({ name: 'demo' })
    await expect(store.update('demo', { name: 'other' })).rejects.toMatchObject(invalid(/^name: .* keeps its name/))
    await expect(store.update('demo', { packageRoot: '/etc' })).rejects.toMatchObject(invalid(/^package_root: /))
    await store.update('demo', { name: 'demo', packageRoot: join(root, 'demo') })
    await expect(store.update('nobody', {})).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a removal takes the package and nothing beside it', async () => {
    const { store, pack, put, tree, ground } = laboratory
    pack('pack/one')
    put('tenants/tnt_a/pack/one/data/file', 'x')
    pack('pack/two')
    put('tenants/tnt_a/pack/notes.txt', 'x')
    put('outside', 'kept')
    symlinkSync(join(ground, 'outside'), join(laboratory.root, 'pack/one/link'))
    await store.remove('one')
    expect(tree()).toEqual(['pack', 'pack/notes.txt', 'pack/two', 'pack/two/SKILL.md'])
    expect(existsSync(join(ground, 'outside'))).toBe(true)
    await expect(store.remove('one')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('many at once are done one after the other', async () => {
    const { store } = laboratory
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => store.create({ name: 'same' })))
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(1)
    // Each finds what the one before has made, and none meets it half way.
    const reasons = results.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []))
    expect(reasons).toEqual(reasons.map(() => expect.objectContaining({ code: 'name_taken' })))
    await Promise.all(Array.from({ length: 20 }, (_, index) => store.update('same', { description: `${index}` })))
    expect(await store.get('same')).toMatchObject({ description: '19' })
  })

  test('what a crash left half made is swept, and never listed', async () => {
    const { store, put, root } = laboratory
    put('tenants/tnt_a/.making/draft_1/SKILL.md', '')
    expect(await store.list()).toEqual([])
    await sweepSkills(root)
    expect(existsSync(join(root, '.making'))).toBe(false)
    await store.create({ name: 'after' })
  })
})

describe('scanning', () => {
  test('finds the one package at or closely below a path in the root', async () => {
    const { store, pack, root } = laboratory
    pack('up/a/b', '---\nname: found\n---\n')
    for (const path of ['up', 'up/a', 'up/a/b'])
      expect(await store.scan(join(root, path)), path).toMatchObject({ name: 'found', packageRoot: join(root, 'up/a/b') })
    pack('deep/1/2/3')
    await expect(store.scan(join(root, 'deep'))).rejects.toMatchObject(invalid(/holds 0$/))
    pack('up/c')
    await expect(store.scan(join(root, 'up'))).rejects.toMatchObject(invalid(/holds 2$/))
    for (const path of ['/etc', join(root, '..'), join(root, 'missing')])
      await expect(store.scan(path), path).rejects.toMatchObject(invalid(/^path: must be a directory among the skills/))
  })
})

describe('files of a package', () => {
  beforeEach(async () => {
    await laboratory.store.create({ name: 'demo', instructions: 'body' })
  })

  test('are listed by name, without hidden ones, up to a bound', async () => {
    const { store, put } = laboratory
    put('tenants/tnt_a/demo/b/inner.txt', 'inner')
    put('tenants/tnt_a/demo/a.txt', '12345')
    put('tenants/tnt_a/demo/.hidden', '')
    const listed = await store.files('demo', '.')
    expect(listed).toEqual({
      basePath: '.',
      entries: [
        { path: 'SKILL.md', name: 'SKILL.md', isDirectory: false, size: 24 },
        { path: 'a.txt', name: 'a.txt', isDirectory: false, size: 5 },
        { path: 'b', name: 'b', isDirectory: true, size: null },
      ],
      truncated: false,
    })
    expect(await store.files('demo', './b/')).toEqual({
      basePath: 'b',
      entries: [{ path: 'b/inner.txt', name: 'inner.txt', isDirectory: false, size: 5 }],
      truncated: false,
    })
    expect((await store.files('demo', '', { includeHidden: true })).entries[0]?.name).toBe('.hidden')
    expect(await store.files('demo', '.', { maxEntries: 1 })).toMatchObject({ entries: [{ name: 'SKILL.md' }], truncated: true })
    for (const maxEntries of [0, -1, 1.5, Number.NaN])
      await expect(store.files('demo', '.', { maxEntries })).rejects.toMatchObject(invalid(/^max_entries: /))
  })

  test('are read and written as text, with the directories above them', async () => {
    const { store, read } = laboratory
    expect(await store.writeFile('demo', 'scripts/run.sh', 'echo größe')).toEqual({ path: 'scripts/run.sh', bytesWritten: 12 })
    expect(await store.readFile('demo', './scripts//run.sh')).toEqual({ path: 'scripts/run.sh', content: 'echo größe' })
    execFileSync('chmod', ['755', join(laboratory.root, 'demo/scripts/run.sh')])
    await store.writeFile('demo', 'scripts/run.sh', 'echo 2')
    expect(statSync(join(laboratory.root, 'demo/scripts/run.sh')).mode & 0o777).toBe(0o755)
    expect(read('demo', 'scripts', 'run.sh')).toBe('echo 2')
    await expect(store.readFile('demo', 'missing')).rejects.toMatchObject({ code: 'not_found' })
    await expect(store.readFile('nobody', 'x')).rejects.toMatchObject({ code: 'not_found' })
    await expect(store.readFile('demo', 'scripts')).rejects.toMatchObject(invalid(/no regular file/))
    await expect(store.writeFile('demo', 'scripts', 'x')).rejects.toMatchObject(invalid(/is a directory/))
    await expect(store.writeFile('demo', 'scripts/run.sh/x', 'x')).rejects.toMatchObject(invalid(/no directory/))
  })

  test('a mebibyte of UTF-8 is the most', async () => {
    const { store, put } = laboratory
    const most = 'x'.repeat(1024 * 1024)
    await store.writeFile('demo', 'most', most)
    expect((await store.readFile('demo', 'most')).content.length).toBe(most.length)
    await expect(store.writeFile('demo', 'more', `${most}x`)).rejects.toMatchObject({ code: 'payload_too_large' })
    put('tenants/tnt_a/demo/more', `${most}x`)
    await expect(store.readFile('demo', 'more')).rejects.toMatchObject({ code: 'payload_too_large' })
    put('tenants/tnt_a/demo/binary', Uint8Array.of(0xff))
    await expect(store.readFile('demo', 'binary')).rejects.toMatchObject(invalid(/no text in UTF-8/))
  })

  test('no path leads out, and no link is followed, for reading, writing or listing', async () => {
    const { store, put, ground, root } = laboratory
    const secret = put('secret/file', 'secret')
    symlinkSync(join(ground, 'secret'), join(root, 'demo', 'link'))
    symlinkSync(secret, join(root, 'demo', 'file-link'))
    symlinkSync('..', join(root, 'demo', 'up'))
    execFileSync('mkfifo', [join(root, 'demo', 'pipe')])
    for (const path of [
      '../../../secret/file',
      '/etc/passwd',
      'a/../../x',
      'C:x',
      'a\\b',
      'a\0b',
      'a\nb',
      'x/'.repeat(40) + 'y',
      'z'.repeat(300),
    ]) {
      await expect(store.readFile('demo', path), path).rejects.toMatchObject(invalid(/^path: /))
      await expect(store.writeFile('demo', path, 'x'), path).rejects.toMatchObject(invalid(/^path: /))
      await expect(store.files('demo', path), path).rejects.toMatchObject(invalid(/^path: /))
    }
    for (const path of ['link/file', 'file-link', 'up/demo/SKILL.md', 'pipe'])
      await expect(store.readFile('demo', path), path).rejects.toMatchObject(invalid(/^path: /))
    for (const path of ['link/file', 'link/new', 'up/new'])
      await expect(store.writeFile('demo', path, 'x'), path).rejects.toMatchObject(invalid(/^path: /))
    for (const path of ['link', 'up']) await expect(store.files('demo', path), path).rejects.toMatchObject(invalid(/^path: /))
    await store.writeFile('demo', 'file-link', 'mine')
    expect(readFileSync(secret, 'utf8')).toBe('secret')
    expect((await store.readFile('demo', 'file-link')).content).toBe('mine')
    expect(readdirSync(join(ground, 'secret'))).toEqual(['file'])
  })

  test('the text of the skill itself stays readable and keeps its name', async () => {
    const { store } = laboratory
    for (const text of ['---\na: [\n---\n', '---\nname: other\n---\n'])
      for (const path of ['SKILL.md', 'skill.md'])
        await expect(store.writeFile('demo', path, text)).rejects.toMatchObject({ code: 'invalid_request' })
    await store.writeFile('demo', 'SKILL.md', '---\nname: demo\nx: 1\n---\nnew')
    expect(await store.get('demo')).toMatchObject({ instructions: 'new' })
  })
})

describe('adopting a directory from elsewhere', () => {
  async function* entries(...list: readonly PackageEntry[]): AsyncGenerator<PackageEntry> {
    yield* list
  }
  const file = (path: string, content: string | readonly Uint8Array[] = 'x', isExecutable = false): PackageEntry => ({
    ...{ kind: 'file', path, isExecutable },
    content: typeof content === 'string' ? [Buffer.from(content)] : content,
  })

  test('makes a package of what comes, under the name that is given', async () => {
    const { store, read, tree, root } = laboratory
    const made = await store.adopt(
      'mine',
      entries(
        file('SKILL.md', '---\nname: other\nlicense: MIT\n---\nbody'),
        { kind: 'directory', path: 'bin' },
        file('bin/run', '#!', true),
      ),
      { description: 'd' },
    )
    expect(made).toMatchObject({ name: 'mine', description: 'd', instructions: 'body', packageRoot: join(root, 'mine') })
    expect(read('mine', 'SKILL.md')).toContain('license: MIT')
    expect(tree()).toEqual(['mine', 'mine/SKILL.md', 'mine/bin', 'mine/bin/run'])
    expect(statSync(join(root, 'mine/bin/run')).mode & 0o777).toBe(0o755)
    expect(await store.adopt('bare', entries(file('data')), { instructions: 'use data' })).toMatchObject({ instructions: 'use data' })
  })

  test('what is not as it should be leaves nothing behind', async () => {
    const { store, tree, root } = laboratory
    await store.create({ name: 'taken' })
    const before = tree()
    const mebibyte = Buffer.alloc(1024 * 1024)
    const of = (count: number) => Array.from({ length: count }, () => mebibyte)
    const wrong: readonly (readonly [string, AsyncGenerator<PackageEntry>, string])[] = [
      ['taken', entries(file('SKILL.md')), 'name_taken'],
      ['../x', entries(file('SKILL.md')), 'invalid_request'],
      ['x', entries(file('data')), 'invalid_request'],
      ['x', entries(), 'invalid_request'],
      ['x', entries(file('../SKILL.md')), 'invalid_request'],
      ['x', entries(file('/SKILL.md')), 'invalid_request'],
      ['x', entries(file('')), 'invalid_request'],
      ['x', entries(file('SKILL.md'), file('./SKILL.md')), 'invalid_request'],
      ['x', entries(file('a'), file('a/b')), 'invalid_request'],
      ['x', entries(file('a/b'), file('a')), 'invalid_request'],
      ['x', entries({ kind: 'directory', path: 'a' }, { kind: 'directory', path: 'a/' }), 'invalid_request'],
      ['x', entries(file('SKILL.md', '---\na: [\n---\n')), 'invalid_request'],
      ['x', entries(file('SKILL.md'), file('large', of(17))), 'payload_too_large'],
      ['x', entries(...Array.from({ length: 5 }, (_, index) => file(`f${index}`, of(16)))), 'payload_too_large'],
      ['x', entries(...Array.from({ length: 513 }, (_, index) => file(`f${index}`))), 'payload_too_large'],
    ]
    for (const [name, list, code] of wrong) await expect(store.adopt(name, list)).rejects.toMatchObject({ code })
    async function* broken(): AsyncGenerator<PackageEntry> {
      yield file('SKILL.md')
      throw new Error('gone')
    }
    await expect(store.adopt('x', broken())).rejects.toThrow('gone')
    expect(tree()).toEqual(before)
    expect(readdirSync(join(root, '.making'))).toEqual([])
  })
})
