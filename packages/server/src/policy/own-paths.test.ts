/** What of the host is the server's own: no allowed root may lie in it, and a sandbox that could write it is reported. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import type { UidRange } from '../sandboxes/host-users.ts'
import { checkRoots, ownPaths, warnOfWritable } from './own-paths.ts'

const isRoot = process.getuid?.() === 0
let root = ''
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-own-')))
  for (const name of ['build', 'modules', 'node_modules', 'work']) mkdirSync(join(root, name))
  for (const name of ['build/guest', 'build/launcher', 'holdfast.yaml']) writeFileSync(join(root, name), '')
  symlinkSync(join(root, 'build', 'launcher'), join(root, 'link'))
})

const own = () =>
  ownPaths({
    ...{ guestPath: join(root, 'build', 'guest'), launcherPath: join(root, 'link') },
    ...{ configFile: join(root, 'holdfast.yaml'), modules: join(root, 'modules') },
  })

test('launcher, guest, modules, dependencies, runtime and configuration are the server’s own, without links', async () => {
  const paths = (await own()).map(({ path }) => path)
  expect(paths).toEqual(
    expect.arrayContaining([
      ...['build', 'modules', 'node_modules', 'holdfast.yaml'].map((name) => join(root, name)),
      dirname(realpathSync(process.execPath)),
    ]),
  )
})

test('a clone is the server’s own as a whole, because its sources are bundled at the next start', async () => {
  mkdirSync(join(root, 'guest', 'build'), { recursive: true })
  writeFileSync(join(root, 'package.json'), '')
  expect(await own()).toContainEqual({ path: root, what: 'the sources of the server' })
})

test('an allowed root in one of them is refused at the start, also by a link and with {tenant}', async () => {
  mkdirSync(join(root, 'build', 'inner'))
  symlinkSync(join(root, 'build'), join(root, 'work', 'link'))
  for (const path of [join(root, 'build'), join(root, 'build', 'inner'), join(root, 'work', 'link'), join(root, 'modules', '{tenant}')])
    await expect(checkRoots([path], await own())).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`mounts.allowed_roots: '${path}' lies in ${root}/`),
    })
  await expect(checkRoots([join(root, 'work'), join(root, 'work', '{tenant}'), root], await own())).resolves.toBeUndefined()
})

const RANGE: UidRange = { first: 2_000_000, count: 1_000 }

async function reported(range: UidRange | null = null): Promise<readonly unknown[]> {
  const paths: unknown[] = []
  const warn = (_event: string, fields?: Readonly<Record<string, unknown>>) => void paths.push(fields?.['path'])
  await warnOfWritable(await own(), { user: { uid: 1000, gid: 1000 }, range }, { warn })
  return paths.filter((path) => String(path).startsWith(root))
}

test.runIf(isRoot)('one that the user of sandboxes may write is reported, and so is a directory above it', async () => {
  chmodSync(root, 0o755)
  expect(await reported()).toEqual([])
  chownSync(join(root, 'build'), 1000, 1000)
  expect(await reported()).toEqual([join(root, 'build')])
  chownSync(join(root, 'build'), 0, 0)
  chmodSync(root, 0o777)
  expect(await reported()).toEqual([root])
})

test.runIf(isRoot).each([
  ['belongs to a user of the range', 2_000_500, 0, 0o755],
  ['belongs to a group of the range and may be written by it', 0, 2_000_500, 0o775],
  ['may be written by any user but those of one group', 0, 1000, 0o707],
])('one that %s is reported where sessions have users of their own', async (_, uid, gid, mode) => {
  const build = join(root, 'build')
  chmodSync(root, 0o755)
  chownSync(build, uid, gid)
  chmodSync(build, mode)
  expect(await reported()).toEqual([])
  expect(await reported(RANGE)).toEqual([build])
})

test.runIf(isRoot)('one that belongs to a user beside the range is not reported', async () => {
  chmodSync(root, 0o755)
  for (const id of [RANGE.first - 1, RANGE.first + RANGE.count]) {
    chownSync(join(root, 'build'), id, id)
    expect(await reported(RANGE)).toEqual([])
  }
})
