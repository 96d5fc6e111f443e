/** What the configuration of a server may find out of the host: what its caller may mount. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sessionMounts } from '../../policy/session-mounts.ts'
import { hostLook } from './host-look.ts'
import type { HostLook } from './host-look.ts'

let directory: string
let look: HostLook

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-look-')))
  for (const name of ['open/demo', 'closed', 'state']) mkdirSync(join(directory, name), { recursive: true })
  for (const name of ['open/demo/a.py', 'closed/secret']) writeFileSync(join(directory, name), 'x')
  symlinkSync(join(directory, 'closed'), join(directory, 'open/out'))
  symlinkSync(join(directory, 'open/demo'), join(directory, 'open/link'))
  const user = { uid: 1000, gid: 1000 }
  const mounts = sessionMounts({
    allowedRoots: [join(directory, 'open')],
    stateDir: join(directory, 'state'),
    user,
    defaultWorkspace: null,
  })
  look = hostLook(mounts, { tenantId: 'default', owner: 'alice' })
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('a look at the host', () => {
  test('sees what lies below an allowed root', async () => {
    expect([await look.kind(join(directory, 'open/demo')), await look.kind(join(directory, 'open/demo/a.py'))]).toEqual([
      'directory',
      'file',
    ])
    expect(await look.settle(join(directory, 'open/link'))).toBe(join(directory, 'open/demo'))
  })

  test('sees no difference between what is refused and what is not there', async () => {
    const paths = ['closed', 'closed/secret', 'open/out/secret', 'state', 'nothing', 'open/nothing'].map((name) => join(directory, name))
    expect(await Promise.all([...paths, '/etc/passwd', '/'].map((path) => look.kind(path)))).toEqual(Array.from({ length: 8 }, () => null))
  })

  test('says why a directory that is named cannot be shown', async () => {
    await expect(look.settle(join(directory, 'closed'))).rejects.toMatchObject({
      code: 'mount_refused',
      message: expect.stringContaining('is not under an allowed root'),
    })
  })
})
