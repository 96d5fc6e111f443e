/** Views of skills on disk: filled, changed and emptied, whatever a sandbox makes of them. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSkillsLaboratory } from './contract/skills-laboratory.ts'
import { createSandboxFiles } from '../home/sandbox-files.ts'
import { emptyRubbish, grant } from './rubbish.ts'
import { createSkillViews } from './skill-views.ts'
import type { SkillViews } from './skill-views.ts'

const SESSION = 'ses_0123456789abcdef'
const isRoot = process.getuid?.() === 0
const USER = isRoot ? { uid: 1000, gid: 1000 } : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

const built = (name: string) => fileURLToPath(new URL(`../../../../guest/build/${name}`, import.meta.url))
const FILES = createSandboxFiles({
  ...{ guestPath: built('holdfast-guest'), launcherPath: built('holdfast-launcher') },
  ...{ isRoot, subordinate: null },
})

let laboratory: ReturnType<typeof openSkillsLaboratory>
let views: SkillViews
let shown: string
beforeEach(async () => {
  laboratory = openSkillsLaboratory()
  views = newViews()
  shown = await views.place(SESSION)
})
afterEach(() => laboratory.close())

/** A long time passes between any two things. */
let now = 0
const clock = () => (now += 60_000)
const newViews = () =>
  createSkillViews({ directory: join(laboratory.ground, 'views'), user: USER, files: FILES, clock, log: laboratory.log })
const skill = (name: string, text = 'x') => ({ name, packageRoot: laboratory.pack(name, text) })
const read = (...path: readonly string[]) => readFileSync(join(shown, ...path), 'utf8')
const inMaking = () => readdirSync(join(shown, '..', 'making'))

describe('a view', () => {
  test('shows copies that belong to the sandbox, in a directory that is the server’s', async () => {
    const one = skill('one', 'text')
    laboratory.put('tenants/tnt_a/one/bin/run', '#!')
    chmodSync(join(one.packageRoot, 'bin/run'), 0o4755)
    symlinkSync('/etc/passwd', join(one.packageRoot, 'link'))
    execFileSync('mkfifo', [join(one.packageRoot, 'pipe')])
    expect(await views.fill(SESSION, [one])).toEqual({ shown: ['one'], missing: [] })
    expect(read('one', 'SKILL.md')).toBe('text')
    expect(readdirSync(join(shown, 'one')).toSorted()).toEqual(['SKILL.md', 'bin', 'link'])
    expect(lstatSync(join(shown, 'one', 'link')).isSymbolicLink()).toBe(true)
    expect(statSync(join(shown, 'one', 'bin', 'run')).mode & 0o7777).toBe(0o755)
    for (const path of ['one', 'one/bin', 'one/bin/run', 'one/link']) expect(lstatSync(join(shown, path)), path).toMatchObject(USER)
    expect(lstatSync(shown).uid).toBe(process.getuid?.())
    expect(statSync(shown).mode & 0o777).toBe(0o755)
    writeFileSync(join(shown, 'one', 'SKILL.md'), 'changed inside')
    expect(readFileSync(join(one.packageRoot, 'SKILL.md'), 'utf8')).toBe('text')
  })

  test('follows what is added, changed and taken away, and leaves alone what stays', async () => {
    const [one, two] = [skill('one'), skill('two')]
    await views.fill(SESSION, [one, two])
    writeFileSync(join(shown, 'two', 'own'), 'work of the sandbox')
    const before = statSync(join(shown, 'two')).ino
    writeFileSync(join(one.packageRoot, 'SKILL.md'), 'new')
    const three = skill('three')
    expect(await views.fill(SESSION, [one, two, three])).toEqual({ shown: ['one', 'two', 'three'], missing: [] })
    expect(read('one', 'SKILL.md')).toBe('new')
    expect(statSync(join(shown, 'two')).ino).toBe(before)
    expect(await views.fill(SESSION, [two])).toEqual({ shown: ['two'], missing: [] })
    expect(readdirSync(shown)).toEqual(['two'])
    expect(read('two', 'own')).toBe('work of the sandbox')
    expect(inMaking()).toEqual([])
    expect(await views.bound(SESSION)).toEqual([two])
    expect(await newViews().bound(SESSION)).toEqual([two])
  })

  test('skips a package that is not there, says so once, makes nothing, and shows it when it comes', async () => {
    const ghost = { name: 'ghost', packageRoot: join(laboratory.root, 'ghost') }
    const one = skill('one')
    for (let round = 0; round < 3; round += 1)
      expect(await views.fill(SESSION, [ghost, one])).toEqual({ shown: ['one'], missing: ['ghost'] })
    expect(existsSync(ghost.packageRoot)).toBe(false)
    expect(laboratory.logged.filter((line) => line.includes('skill-not-shown')).length).toBe(1)
    skill('ghost')
    expect(await views.fill(SESSION, [ghost, one])).toEqual({ shown: ['ghost', 'one'], missing: [] })
    rmSync(ghost.packageRoot, { recursive: true })
    expect(await views.fill(SESSION, [ghost, one])).toEqual({ shown: ['one'], missing: ['ghost'] })
    expect(readdirSync(shown)).toEqual(['one'])
  })

  test('is filled anew when the store says that something changed, also after a restart', async () => {
    const one = skill('one')
    await views.fill(SESSION, [one])
    views = newViews()
    writeFileSync(join(one.packageRoot, 'SKILL.md'), 'new')
    for (const other of [`${laboratory.root}-other`, laboratory.root.slice(0, -1)]) await views.refresh(other)
    expect(read('one', 'SKILL.md')).toBe('x')
    await views.refresh(laboratory.root)
    expect(read('one', 'SKILL.md')).toBe('new')
    rmSync(one.packageRoot, { recursive: true })
    await views.refresh(laboratory.root)
    expect(readdirSync(shown)).toEqual([])
  })

  test('looks at a package once in a second, unless it is told of a change', async () => {
    let time = 1_000
    views = createSkillViews({
      directory: join(laboratory.ground, 'views'),
      user: USER,
      files: FILES,
      clock: () => time,
      log: laboratory.log,
    })
    const one = skill('one')
    await views.fill(SESSION, [one])
    writeFileSync(join(one.packageRoot, 'SKILL.md'), 'by hand')
    time += 999
    await views.fill(SESSION, [one])
    expect(read('one', 'SKILL.md')).toBe('x')
    time += 1
    await views.fill(SESSION, [one])
    expect(read('one', 'SKILL.md')).toBe('by hand')
    writeFileSync(join(one.packageRoot, 'SKILL.md'), 'by the server')
    await views.refresh(laboratory.root)
    expect(read('one', 'SKILL.md')).toBe('by the server')
  })

  test('takes no name that is a path, no package that is a link, and none that is too deep', async () => {
    const one = skill('one')
    symlinkSync(one.packageRoot, join(laboratory.root, 'link'))
    const deep = skill('deep')
    mkdirSync(join(deep.packageRoot, 'd/'.repeat(40)), { recursive: true })
    const list = [{ ...one, name: '../escaped' }, { ...one, name: '.' }, { name: 'link', packageRoot: join(laboratory.root, 'link') }, deep]
    expect(await views.fill(SESSION, list)).toMatchObject({ shown: [], missing: { length: 4 } })
    expect(readdirSync(shown)).toEqual([])
    expect(readdirSync(join(shown, '..')).toSorted()).toEqual(['bound.json', 'making', 'shown'])
    expect(inMaking()).toEqual([])
  })

  test('is not there for a session without one, and gone when it was removed', async () => {
    await expect(views.fill('ses_0000000000000000', [])).rejects.toMatchObject({ code: 'capability_unsupported' })
    await views.fill(SESSION, [skill('one')])
    await views.remove(SESSION)
    await views.remove(SESSION)
    expect(readdirSync(join(laboratory.ground, 'views'))).toEqual([])
    await expect(views.fill(SESSION, [])).rejects.toMatchObject({ code: 'capability_unsupported' })
  })
})

/** Where the server is not root, the sandbox's user is its own: the view has no owner that could protect it. */
describe.runIf(isRoot)('a session with a host user of its own', () => {
  const OWN = { uid: 2_010_000_000, gid: 2_010_000_000 }
  const ownerOf = (...path: readonly string[]) => lstatSync(join(shown, ...path)).uid

  test('owns the copies that it had and those that follow; the directory of copies stays the server’s', async () => {
    await views.fill(SESSION, [skill('one')])
    expect(ownerOf('one', 'SKILL.md')).toBe(USER.uid)
    await views.give(SESSION, OWN)
    const both = [skill('one'), skill('two')]
    await newViews().fill(SESSION, both)
    for (const path of [['one'], ['one', 'SKILL.md'], ['two', 'SKILL.md']]) expect(ownerOf(...path), path.join('/')).toBe(OWN.uid)
    expect(ownerOf()).toBe(0)
    await views.give(SESSION, USER)
    expect(ownerOf('two', 'SKILL.md')).toBe(USER.uid)
  })
})

describe('a sandbox with the rights of the server', () => {
  let secret: string
  beforeEach(async () => {
    secret = laboratory.put('secret/file', 'secret')
    if (isRoot) {
      execFileSync('chown', ['-R', '65534:65534', laboratory.ground])
      chmodSync(laboratory.ground, 0o755)
      process.seteuid?.(65534)
    }
    views = createSkillViews({
      ...{ directory: join(laboratory.ground, 'views'), user: { uid: 65534, gid: 65534 }, files: FILES, clock, log: laboratory.log },
    })
  })
  afterEach(() => {
    if (isRoot) process.seteuid?.(0)
  })

  test('that puts links, files and pipes in place of its copies gets its copies back, and the server writes nowhere else', async () => {
    const one = skill('one')
    const tool = laboratory.put('tenants/tnt_a/one/tool', '#!')
    chmodSync(tool, 0o4755)
    const spoil: Readonly<Record<string, () => void>> = {
      'a link to a directory': () => symlinkSync(join(secret, '..'), join(shown, 'one')),
      'a link to a file': () => symlinkSync(secret, join(shown, 'one')),
      'a link to nothing': () => symlinkSync('/no/such', join(shown, 'one')),
      'a file': () => writeFileSync(join(shown, 'one'), ''),
      'a pipe': () => execFileSync('mkfifo', [join(shown, 'one')]),
      nothing: () => undefined,
      'a closed directory': () => {
        mkdirSync(join(shown, 'one', 'inner'), { recursive: true })
        writeFileSync(join(shown, 'one', 'inner', 'file'), '')
        mkdirSync(join(shown, 'one', 'unread'))
        chmodSync(join(shown, 'one', 'unread'), 0o300)
        for (const path of ['one/inner', 'one']) chmodSync(join(shown, path), 0)
      },
      'a closed view': () => {
        mkdirSync(join(shown, 'one'))
        chmodSync(shown, 0)
      },
    }
    for (const [what, act] of Object.entries(spoil)) {
      await views.fill(SESSION, [one])
      renameSync(join(shown, 'one'), join(shown, `away-${what.length}`))
      rmSync(join(shown, `away-${what.length}`), { recursive: true })
      act()
      writeFileSync(join(one.packageRoot, 'SKILL.md'), what)
      expect(await views.fill(SESSION, [one]), what).toEqual({ shown: ['one'], missing: [] })
      expect(read('one', 'SKILL.md'), what).toBe(what)
      expect(inMaking(), what).toEqual([])
      expect(statSync(join(shown, 'one', 'tool')).mode & 0o7777).toBe(0o755)
    }
    rmSync(join(shown, 'one'), { recursive: true })
    expect(await views.fill(SESSION, [one]), 'gone, and the package is the same').toEqual({ shown: ['one'], missing: [] })
    expect(readdirSync(shown)).toEqual(['one'])
    expect(readFileSync(secret, 'utf8')).toBe('secret')
    expect(readdirSync(join(secret, '..'))).toEqual(['file'])
    expect(await views.fill(SESSION, [])).toEqual({ shown: [], missing: [] })
    expect(readdirSync(shown)).toEqual([])
  })
})

describe('rubbish', () => {
  test('gets the rights of its owner, and what a link leads to keeps its own', async () => {
    const closed = join(laboratory.ground, 'closed')
    mkdirSync(closed, { mode: 0o500 })
    symlinkSync(closed, join(laboratory.ground, 'link'))
    for (const path of ['link', 'missing', 'tenants/../link']) await grant(join(laboratory.ground, path))
    expect(statSync(closed).mode & 0o777).toBe(0o500)
    await grant(closed)
    expect(statSync(closed).mode & 0o777).toBe(0o700)
  })

  test('is removed without following a link, however deep, closed or strangely named it is', async () => {
    const bin = join(laboratory.ground, 'bin')
    const secret = laboratory.put('secret/file', 'secret')
    mkdirSync(join(bin, 'a', 'd/'.repeat(300)), { recursive: true })
    symlinkSync(join(secret, '..'), join(bin, 'a', 'link'))
    symlinkSync(join(secret, '..'), join(bin, 'link'))
    writeFileSync(Buffer.concat([Buffer.from(`${bin}/a/`), Buffer.of(0xff, 0xfe)]), '')
    mkdirSync(Buffer.concat([Buffer.from(`${bin}/a/`), Buffer.of(0xfe)]))
    chmodSync(join(bin, 'a', 'd'), 0)
    expect(await emptyRubbish(bin)).toBe(true)
    expect(readdirSync(bin)).toEqual([])
    expect(readFileSync(secret, 'utf8')).toBe('secret')
  })

  test('that somebody keeps filling is left for later, and the server goes on', async () => {
    const bin = join(laboratory.ground, 'bin')
    mkdirSync(join(bin, 'busy'), { recursive: true })
    for (let index = 0; index < 100; index += 1) writeFileSync(join(bin, 'busy', `${index}`), '')
    expect(await emptyRubbish(bin, 50)).toBe(false)
    expect(await emptyRubbish(bin)).toBe(true)
  })
})
