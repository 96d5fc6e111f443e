/** Which directory of the host a client's path means. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sandboxUserOnHost } from '../../../sandboxes/sandbox-user.ts'
import { RAW_TENANT, tenantOf } from '../tenant.ts'
import { hostDirectories } from './host-directories.ts'

const TENANT = tenantOf({ instance_uuid: 'inst-1', workspace_uuid: 'ws-A', placement_generation: 1 })
const OTHER = 'ws-000000000000000000000000'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'holdfast-boxrun-'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const open = (wish: { clientRoots?: string[]; allowedRoots?: string[]; isShared?: boolean } = {}) =>
  hostDirectories({
    config: { clientRoots: wish.clientRoots ?? null, defaultWorkspace: join(base, 'box', 'default') },
    hostRoot: { path: join(base, 'box'), isShared: wish.isShared ?? false },
    allowedRoots: wish.allowedRoots ?? [],
    user: sandboxUserOnHost(),
    checkMounts: async (_tenant, mounts) => mounts,
  })

test('the workspace’s own directory of another machine is the server’s own, and is made', async () => {
  const own = join(base, 'box', 'tenants', TENANT.namespace)
  const paths = [`/app/data/tenants/${TENANT.namespace}`, `C:\\data\\tenants\\${TENANT.namespace}\\`]
  for (const path of paths) expect(await open().resolve(TENANT, path)).toBe(own)
  expect(await open().resolve(TENANT, `/app/tenants/${TENANT.namespace}/a/b`)).toBe(join(own, 'a', 'b'))
  expect(existsSync(join(own, 'a', 'b'))).toBe(true)
  // What is told by its real name is the same.
  expect(await open().resolve(TENANT, own)).toBe(own)
})

test('below a root that is shared it is what it says, and is made if it is missing', async () => {
  const shared = open({ isShared: true })
  const path = join(base, 'box', 'default', 'tenants', TENANT.namespace)
  expect(await shared.resolve(TENANT, path)).toBe(path)
  expect(existsSync(path)).toBe(true)
  expect(await shared.resolve(TENANT, join(base, 'box', 'plain'))).toBe(join(base, 'box', 'plain'))
  expect(existsSync(join(base, 'box', 'plain'))).toBe(true)
})

test('a directory that holds those of several workspaces is refused to clients with contexts', async () => {
  const shared = open({ isShared: true, allowedRoots: [join(base, 'data')] })
  mkdirSync(join(base, 'data', 'older', 'tenants', OTHER), { recursive: true })
  mkdirSync(join(base, 'box', 'default', 'tenants', OTHER), { recursive: true })
  mkdirSync(join(base, 'box', 'default', 'tenants', TENANT.namespace), { recursive: true })
  symlinkSync('..', join(base, 'box', 'default', 'tenants', TENANT.namespace, 'up'))
  const around = ['', 'default', 'default/tenants', 'tenants', 'skills', 'skills/tenants'].map((name) => join(base, 'box', name))
  const paths = [...around, join(base, 'data', 'older'), join(base, 'data', 'older', 'tenants')]
  for (const path of paths) {
    await expect(shared.resolve(TENANT, path), path).rejects.toThrow('holds the directories of several workspaces')
    await expect(shared.check(TENANT, [{ source: path, target: '/mnt/x', mode: 'ro' }]), path).rejects.toThrow('of several workspaces')
  }
  const link = join(base, 'box', 'default', 'tenants', TENANT.namespace, 'up')
  await expect(shared.check(TENANT, [{ source: link, target: '/mnt/x', mode: 'ro' }])).rejects.toThrow('of several workspaces')
  expect(await shared.resolve(RAW_TENANT, join(base, 'box', 'default'))).toBe(join(base, 'box', 'default'))
  await expect(shared.check(TENANT, [{ source: join(base, 'box', 'beside'), target: '/mnt/x', mode: 'ro' }])).resolves.toBeUndefined()
})

test('the answer does not depend on what this host has at a path that is not below an allowed root', async () => {
  const own = join(base, 'box', 'tenants', TENANT.namespace)
  mkdirSync(join(base, 'there', 'tenants', TENANT.namespace), { recursive: true })
  for (const name of ['there', 'not-there']) expect(await open().resolve(TENANT, join(base, name, 'tenants', TENANT.namespace))).toBe(own)
  for (const path of ['/etc/shadow', '/no/such', join(base, 'there'), join(base, 'not-there')]) {
    await expect(open().resolve(TENANT, path)).rejects.toThrow(`host_path: '${path}' is not below an allowed root`)
    expect(await open().resolve(RAW_TENANT, path)).toBe(join(base, 'box', 'tenants', 'ws-raw'))
  }
})

test('the directory of another workspace is nobody else’s, and no path leads around that', async () => {
  const shared = open({ isShared: true })
  for (const path of [join(base, 'box', 'tenants', OTHER), `/app/tenants/${OTHER}`, `/app/tenants/${TENANT.namespace}/../${OTHER}`])
    await expect(shared.resolve(TENANT, path)).rejects.toMatchObject({ boxClass: 'BoxValidationError' })
  const mount = { source: join(base, 'box', 'tenants', OTHER), target: '/mnt/x', mode: 'ro' } as const
  await expect(shared.check(TENANT, [mount])).rejects.toThrow('another workspace')
})

test('a link in the way is not followed when a directory is made', async () => {
  mkdirSync(join(base, 'elsewhere'))
  mkdirSync(join(base, 'box', 'tenants', TENANT.namespace), { recursive: true })
  symlinkSync(join(base, 'elsewhere'), join(base, 'box', 'tenants', TENANT.namespace, 'link'))
  await expect(open().resolve(TENANT, `/app/tenants/${TENANT.namespace}/link/deep`)).rejects.toMatchObject({ code: 'mount_refused' })
  expect(existsSync(join(base, 'elsewhere', 'deep'))).toBe(false)
})

test('a client’s own roots narrow the operator’s and never widen them', async () => {
  const narrowed = open({ allowedRoots: [base], clientRoots: [join(base, 'a'), '/etc'] })
  expect(await narrowed.resolve(TENANT, join(base, 'a', 'x'))).toBe(join(base, 'a', 'x'))
  await expect(narrowed.resolve(TENANT, join(base, 'b'))).rejects.toThrow('not below an allowed root')
  await expect(narrowed.resolve(TENANT, '/etc')).rejects.toThrow('not below an allowed root')
  const mount = { source: join(base, 'b'), target: '/mnt/b', mode: 'ro' } as const
  await expect(narrowed.check(TENANT, [mount])).rejects.toThrow('that the client allows')
})

test('of what clients share only what lies below the shared root is made', async () => {
  await open().makeShared(join(base, 'box', 'default'))
  await open({ isShared: true }).makeShared(join(base, 'other'))
  expect([existsSync(join(base, 'box')), existsSync(join(base, 'other'))]).toEqual([false, false])
  await open({ isShared: true }).makeShared(join(base, 'box', 'default'))
  expect(existsSync(join(base, 'box', 'default'))).toBe(true)
})

test('packages that an earlier Box kept in the shared root can be found and taken over', () => {
  const root = join(base, 'box', 'skills', 'tenants', TENANT.namespace)
  expect(open({ isShared: true }).locate(TENANT, join(root, 'demo'))).toEqual({ root, names: ['demo'] })
})

test('clients without workspaces have one directory', async () => {
  expect(await open().resolve(RAW_TENANT, '/app/data/box/default')).toBe(join(base, 'box', 'tenants', 'ws-raw'))
})
