/** A refused mount answers the same whatever the host has at its path. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { because } from '../../../../test/environment/backends.ts'
import { bubblewrapUnderTest, openRealServer } from './rest/contract/real-server.ts'
import type { RealServer } from './rest/contract/real-server.ts'

const under = await bubblewrapUnderTest()

describe.skipIf(under.skipReason !== null)(`refused mounts${because(under)}`, () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-refused-')))
  const root = join(directory, 'root')
  let real: RealServer
  let ada = ''
  let session = ''
  let pairs: Readonly<Record<string, readonly [string, string]>>

  beforeAll(async () => {
    mkdirSync(root)
    writeFileSync(join(directory, 'there'), '')
    symlinkSync('/etc', join(root, 'link'))
    real = await openRealServer({ HOLDFAST_MOUNTS_ALLOWED_ROOTS: root })
    ada = await real.keyOf({ subject: 'ada' })
    session = await real.session('own', {}, ada)
    const bob = await real.session('his', {}, await real.keyOf({ subject: 'bob' }))
    const files = (id: string) => join(real.home, 'workspaces', id, 'files')
    pairs = {
      'a file and none': [join(directory, 'there'), join(directory, 'gone')],
      'a file of the system and none': ['/etc/shadow', '/etc/holdfast-none'],
      'a link and none below a root': [join(root, 'link'), join(root, 'none')],
      "another's session and none": [files(bob), files('ses_0000000000000000')],
    }
  })
  afterAll(async () => {
    await real?.close()
    rmSync(directory, { recursive: true, force: true })
  })

  const atRest = (source: string) =>
    real.request('/v1/sessions', {
      method: 'POST',
      body: JSON.stringify({ key: 'mounting', mounts: [{ source, target: '/mnt/x', mode: 'ro' }] }),
      key: ada,
    })
  const atMcp = async (source: string) => {
    const config = JSON.stringify({ command: 'true', box: { host_path: source } })
    const put = await real.request('/v1/mcp/servers/peek', { method: 'PUT', body: config })
    if (!put.ok) return put
    const call = JSON.stringify({ session_id: session, arguments: {} })
    return real.request('/v1/mcp/servers/peek/tools/any', { method: 'POST', body: call, key: ada })
  }

  test.each([
    ['REST', atRest],
    ['MCP servers', atMcp],
  ])('at %s', async (_, ask) => {
    const answered = async (path: string) => {
      const response = await ask(path)
      const { request_id: _id, ...problem } = JSON.parse((await response.text()).replaceAll(path, '<path>')) as Record<string, unknown>
      return { status: response.status, problem }
    }
    for (const [pair, [one, other]] of Object.entries(pairs)) {
      const first = await answered(one)
      expect(first, pair).toMatchObject({ problem: { code: 'mount_refused' } })
      expect(await answered(other), pair).toEqual(first)
    }
  })
})
