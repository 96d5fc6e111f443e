/** The rules that hosts of Box rely on, by name, with LangBot's published client on the other side. */
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createBoxConnector, createBoxService } from '@holdfast/box-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { eventually } from '../servers/eventually.ts'
import { makePlace, startBoxServer } from './box-server.ts'
import type { BoxPlace, BoxServer } from './box-server.ts'
import { clientOf, CONTEXT, INSTANCE, physicalId, startDriver } from './langbot-driver.ts'
import type { LangBotClient, LangBotDriver } from './langbot-driver.ts'
import { clientBecause, CURRENT_RELEASE, publishedClient } from './published-client.ts'

const KINDS = ['bubblewrap', 'docker']
const published = await publishedClient(CURRENT_RELEASE)
const backends = published.skipReason === null ? await backendsUnderTest() : []

describe.skipIf(published.skipReason !== null)(`rules of Box with ${CURRENT_RELEASE}${clientBecause(published)}`, () => {
  test('can be had', () => expect(published.skipReason).toBeNull())

  for (const under of backends.filter(({ kind }) => KINDS.includes(kind))) {
    describe.skipIf(under.skipReason !== null)(`on ${under.kind}${because(under)}`, () => {
      let place: BoxPlace
      let server: BoxServer
      let driver: LangBotDriver
      let client: LangBotClient
      beforeAll(async () => {
        if (published.skipReason !== null) return
        place = makePlace(under)
        driver = startDriver(published.python)
        server = await startBoxServer(place)
        await driver.connect('one', server.url)
        client = clientOf(driver, 'one', () => server.url)
      })
      afterAll(async () => {
        await driver.close()
        await server.close()
        await place.remove()
      })

      const post = (path: string, body: object) => server.rest(path, { method: 'POST', body: JSON.stringify(body) })
      async function letAdministratorLookInside(): Promise<void> {
        const { items } = (await server.rest('/v1/tenants')) as { items: { id: string; version: number }[] }
        const { id = '', version } = items[0] ?? {}
        const body = JSON.stringify({ admin_exec: true })
        await server.rest(`/v1/tenants/${id}/policy`, { method: 'PUT', headers: { 'if-match': `"${version}"` }, body })
      }

      test('one container for exec, skills and tools', async () => {
        const { package_root } = await client.call('create_skill', { skill: { name: 'demo', instructions: 'Do it.' } })
        await client.call('write_skill_file', { name: 'demo', path: 'run.sh', content: 'echo from the skill\n' })
        const spec = { extra_mounts: [{ host_path: package_root, mount_path: '/workspace/.skills/demo', mode: 'rw' }] }
        const before = await place.sandboxes()
        await client.exec('chat', 'echo exec > /tmp/mark')
        expect(await client.exec('chat', 'cat /tmp/mark; sh .skills/demo/run.sh', spec)).toMatchObject({ stdout: 'exec\nfrom the skill' })
        await client.launch('chat', 'mcp', 'cat /tmp/mark >&2; sleep 600')
        await eventually(() => client.look('chat', 'mcp')).toMatchObject({ status: 'running', stderr_preview: 'exec' })
        const { items } = (await server.rest(`/v1/sessions?key=${physicalId('chat')}`)) as { items: { id: string }[] }
        await letAdministratorLookInside()
        const input = { command: 'cat /tmp/mark' }
        expect(await post('/v1/tools/exec', { session_id: items[0]?.id, input })).toMatchObject({ ok: true, stdout: 'exec\n' })
        expect(await place.sandboxes()).toHaveLength(before.length + 1)
      })

      test('locked fields', async () => {
        for (const wish of [{ network: 'on' }, { rootfs: 'writable' }, { workspace: { mode: 'rw' } }]) {
          const body = { session: `locked-${Object.keys(wish).join()}`, argv: ['true'], profile: 'offline_readonly', ...wish }
          expect(await post('/v1/exec', body), JSON.stringify(wish)).toMatchObject({ code: 'profile_locked' })
        }
      })

      test('blocked mounts for every mount', async () => {
        symlinkSync('/etc', join(place.root, 'link'))
        mkdirSync(join(place.root, 'good'))
        const good = { host_path: join(place.root, 'good'), mount_path: '/mnt/good', mode: 'ro' }
        for (const path of ['/', '/etc', '/proc', '/root', '/var/run', '/run/docker.sock', join(place.root, 'link'), place.home]) {
          const bad = { host_path: path, mount_path: '/mnt/bad', mode: 'ro' }
          for (const spec of [{ host_path: path, host_path_mode: 'ro' }, { extra_mounts: [bad] }, { extra_mounts: [good, bad] }]) {
            const asked = { spec: { session_id: 'blocked', cmd: 'true', ...spec } }
            expect(await client.failure('execute', asked), JSON.stringify(spec)).toBe('BoxValidationError')
          }
        }
        expect(await client.failure('get_session', { session_id: 'blocked' })).toBe('BoxSessionNotFoundError')
        expect(await client.exec('allowed', 'ls -d /mnt/good', { extra_mounts: [good] })).toMatchObject({ stdout: '/mnt/good' })
      })

      test('disabled versus failed', async () => {
        const statusOf = async (endpoint: string, enabled: boolean) => {
          const connector = createBoxConnector({ target: { endpoint }, instance: INSTANCE, enabled })
          const service = createBoxService({ connector, context: CONTEXT })
          await service.start()
          const status = await service.getStatus()
          await service.close()
          return status
        }
        expect(await statusOf(server.url, true)).toMatchObject({ enabled: true, available: true, backend: { name: under.kind } })
        expect(await statusOf(server.url, false)).toMatchObject({ enabled: false, available: false })
        expect(await statusOf('http://127.0.0.1:9', true)).toMatchObject({
          enabled: true,
          available: false,
          connector_error: expect.stringMatching(/./),
        })
      })

      test('TTL never reaps a session with a running managed process', async () => {
        await client.exec('idle', 'true')
        await client.exec('busy', 'true')
        const started = await client.launch('busy', 'p', 'sleep 600')
        server.letTimePass()
        await eventually(() => client.failure('get_session', { session_id: 'idle' })).toBe('BoxSessionNotFoundError')
        expect(await client.look('busy', 'p')).toMatchObject({ status: 'running', started_at: started.started_at })
        await client.call('stop_managed_process', { session_id: 'busy', process_id: 'p' })
        server.letTimePass()
        await eventually(() => client.failure('get_session', { session_id: 'busy' })).toBe('BoxSessionNotFoundError')
      })

      test('orphan clean-up that spares other servers', async () => {
        const otherPlace = makePlace(under)
        const other = await startBoxServer(otherPlace)
        await driver.connect('other', other.url)
        const neighbour = clientOf(driver, 'other', () => other.url)
        await neighbour.exec('lost', 'true')
        await client.exec('spared', 'echo here > /tmp/mark')
        const [orphan] = await otherPlace.sandboxes()
        expect(orphan).toBeDefined()
        const ours = await place.sandboxes()
        await other.die()
        // Nobody knows of its sandboxes any more.
        for (const end of ['', '-wal', '-shm']) rmSync(join(otherPlace.home, `holdfast.db${end}`), { force: true })
        await other.restart()
        expect(await otherPlace.sandboxes()).not.toContain(orphan)
        expect(await place.sandboxes()).toEqual(expect.arrayContaining([...ours]))
        expect(await client.exec('spared', 'cat /tmp/mark')).toMatchObject({ stdout: 'here' })
        await other.close()
        await otherPlace.remove()
      })
    })
  }
})
