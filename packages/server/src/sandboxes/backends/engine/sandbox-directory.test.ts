/** Directories of sandboxes: who owns which, and what a crash leaves. */
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { assertSandboxName } from '../../sandbox-name.ts'
import { sandboxDirectories } from './sandbox-directory.ts'

const NAME = 'sbx_0123456789abcdef'
let stateDir: string
const needs = () => ({ serverId: 's', stateDir, guestPath: '/g', launcherPath: '/l' })

beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'holdfast-state-'))
})
afterEach(() => rm(stateDir, { recursive: true }))

test('the directory is closed to everybody else', async () => {
  const path = await sandboxDirectories('docker', needs()).make(NAME)
  expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700)
})

test('a name that is taken is refused and left as it is', async () => {
  await sandboxDirectories('docker', needs()).make(NAME)
  await expect(sandboxDirectories('podman', needs()).make(NAME)).rejects.toMatchObject({ code: 'invalid_request' })
  expect(await readdir(join(stateDir, 'sandboxes', NAME))).toEqual(['docker', 'half-made', 'hosts'])
})

test('a backend lists its own and those too young to tell, never those of another', async () => {
  await sandboxDirectories('docker', needs()).make(NAME)
  const empty = 'sbx_aaaaaaaaaaaaaaaa'
  await mkdir(join(stateDir, 'sandboxes', empty))
  await mkdir(join(stateDir, 'sandboxes', 'something-else'))
  expect(await sandboxDirectories('docker', needs()).list()).toEqual([NAME, empty])
  expect(await sandboxDirectories('podman', needs()).list()).toEqual([empty])
})

test('what a removal that was cut short leaves is still listed, by any backend', async () => {
  await sandboxDirectories('docker', needs()).make(NAME)
  await rm(join(stateDir, 'sandboxes', NAME, 'docker'), { recursive: true })
  for (const kind of ['docker', 'podman'] as const) expect(await sandboxDirectories(kind, needs()).list()).toEqual([NAME])
})

test('it is half made until it is finished, and a removal that was cut short leaves its record', async () => {
  const directories = sandboxDirectories('docker', needs())
  await directories.make(NAME)
  expect(await directories.isHalfMade(NAME)).toBe(true)
  await directories.finish(NAME)
  expect(await directories.isHalfMade(NAME)).toBe(false)
  await directories.makeChanges(NAME, process.getuid?.() ?? 0)
  await rm(join(stateDir, 'sandboxes', NAME, 'root'), { recursive: true })
  expect(await directories.list()).toEqual([NAME])
})

test('removing twice is fine, and so is a state directory that never was', async () => {
  const directories = sandboxDirectories('docker', needs())
  expect(await directories.list()).toEqual([])
  await directories.make(NAME)
  await directories.remove(NAME)
  await directories.remove(NAME)
  expect(await directories.list()).toEqual([])
})

test.each(['', '..', 'sbx_../../etc/passwd', 'sbx_0123456789ABCDEF', 'sbx_0123456789abcdef0'])('the name %j is refused', (name) => {
  expect(() => assertSandboxName(name)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
})
