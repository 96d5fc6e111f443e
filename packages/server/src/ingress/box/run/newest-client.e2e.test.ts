/** What LangBot 4.11 (SDK 0.7) expects of a Box server beyond earlier releases, over real sandboxes. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ArtifactManifest, BoxStorageAnalysis, manifestDigest } from '@holdfast/protocol/box'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../../test/servers/eventually.ts'
import { boxRefusal } from '../contract/box-client.ts'
import { CONTEXT, openBoxWorld, OTHER_CONTEXT, relayHeaders, TENANT } from './contract/box-world.ts'
import type { BoxWorld } from './contract/box-world.ts'

for (const under of await backendsAbovePort()) {
  describe.skipIf(under.skipReason !== null)(`LangBot 4.11 on ${under.kind}${because(under)}`, () => {
    let root: string
    let world: BoxWorld
    beforeAll(async () => {
      root = mkdtempSync(join(tmpdir(), 'holdfast-box-root-'))
      world = await openBoxWorld(under, { HOLDFAST_BOX_HOST_ROOT: root })
    })
    afterAll(async () => {
      await world.close()
      rmSync(root, { recursive: true, force: true })
    })
    const own = () => join(root, 'default', 'tenants', TENANT.namespace)
    const sessionOf = async (id: string) => {
      const { items } = (await world.rest(`/v1/sessions?key=${TENANT.placement}-${id}`)) as { items: { id: string; incarnation: number }[] }
      return items[0]
    }

    /** As LangBot lays out the revisions of its skills. */
    function skill(name: string, contents: Readonly<Record<string, string>>, namespace = TENANT.namespace) {
      const revision = join(root, 'skills', 'tenants', namespace, '.langbot-skill-store', 'revisions', name)
      const files = Object.entries(contents).map(([path, text]) => {
        mkdirSync(dirname(join(revision, 'package', path)), { recursive: true })
        writeFileSync(join(revision, 'package', path), text)
        const sha256 = createHash('sha256').update(text).digest('hex')
        return { path, size: Buffer.byteLength(text), sha256, executable: path.endsWith('.sh') }
      })
      const manifest = ArtifactManifest.parse({
        ...{ algorithm: 'sha256-tree-v1', files },
        total_bytes: files.reduce((sum, { size }) => sum + size, 0),
      })
      writeFileSync(join(revision, 'manifest.json'), JSON.stringify(manifest))
      const digest = manifestDigest(manifest)
      const path = `/opt/langbot-artifacts/${digest.slice('sha256:'.length)}`
      const mount = {
        ...{ host_path: join(revision, 'package'), mount_path: path, mode: 'ro' },
        ...{ content_digest: digest, manifest_path: join(revision, 'manifest.json') },
      }
      return { mount, path }
    }

    test('a skill that is activated in the middle of a run appears in the running sandbox, and no command ends for it', async () => {
      const one = skill('one', { 'SKILL.md': 'first', 'bin/run.sh': '#!/bin/sh\necho ran\n' })
      const two = skill('two', { 'SKILL.md': 'second' })
      await world.call('box_create_session', { session_id: 'live', host_path: own() })
      const spec = { host_path: own() }
      await world.exec('live', 'touch /tmp/kept', spec)
      const waiting = world.exec('live', `until test -e ${one.path}/SKILL.md && test -e ${two.path}; do sleep 0.05; done; echo seen`, spec)
      const withOne = { ...spec, extra_mounts: [one.mount] }
      expect(await world.exec('live', `cat ${one.path}/SKILL.md; ${one.path}/bin/run.sh; ls /tmp`, withOne)).toMatchObject({
        stdout: 'firstran\nkept',
      })
      // Another run in the same chat, with other skills.
      expect(await world.exec('live', `cat ${two.path}/SKILL.md; ls /tmp`, { ...spec, extra_mounts: [two.mount] })).toMatchObject({
        stdout: 'secondkept',
      })
      expect(await waiting).toMatchObject({ exit_code: 0, stdout: 'seen' })
      const spoil = `echo x > ${one.path}/SKILL.md; rm -rf ${one.path}; mkdir /opt/langbot-artifacts/x; cat ${one.path}/SKILL.md`
      expect(await world.exec('live', spoil, withOne)).toMatchObject({ stdout: 'first' })
      expect(await sessionOf('live')).toMatchObject({ incarnation: 1 })
    })

    test('an artifact outlives the server with its session, and goes with it', async () => {
      const { mount, path } = skill('lasting', { 'SKILL.md': 'lasting' })
      const spec = { host_path: own(), extra_mounts: [mount] }
      expect(await world.exec('lasting', `cat ${path}/SKILL.md`, spec)).toMatchObject({ stdout: 'lasting' })
      const session = await sessionOf('lasting')
      await world.restart()
      expect(await world.exec('lasting', `cat ${path}/SKILL.md`, spec)).toMatchObject({ stdout: 'lasting' })
      expect(await sessionOf('lasting')).toMatchObject({ id: session?.id, incarnation: 1 })
      const storage = join(world.home, 'workspaces', session?.id ?? '')
      expect(readdirSync(join(storage, 'artifacts', 'shown'))).toHaveLength(1)
      await world.call('box_delete_session', { session_id: 'lasting' })
      await eventually(async () => existsSync(storage)).toBe(false)
    })

    test('a false digest, another workspace’s skill, a path that is not allowed and a plain mount there are refused', async () => {
      const { mount } = skill('good', { 'SKILL.md': 'good' })
      const other = skill('other', { 'SKILL.md': 'other' })
      const ask = (change: object) =>
        world.failure('box_exec', { session_id: 'refused', cmd: 'true', extra_mounts: [{ ...mount, ...change }] })
      expect(await ask({ content_digest: other.mount.content_digest, mount_path: other.path })).toBe(
        'BoxError: Immutable artifact preparation failed: Artifact manifest does not match content_digest',
      )
      writeFileSync(join(mount.host_path, 'SKILL.md'), 'evil')
      expect(await ask({})).toMatch(/^BoxError: Immutable artifact preparation failed: /)
      const foreign = skill('foreign', { 'SKILL.md': 'f' }, 'ws-000000000000000000000000').mount
      expect(await ask(foreign)).toMatch(/^BoxValidationError: .*another workspace/)
      expect(await ask({ host_path: '/etc' })).toMatch(/^BoxValidationError: /)
      expect(await ask({ manifest_path: '/etc/passwd' })).toMatch(/^BoxValidationError: /)
      expect(await ask({ content_digest: null, manifest_path: null })).toMatch(/^BoxValidationError: extra_mounts/)
      expect(await ask({ mode: 'rw' })).toMatch(/^BoxValidationError: extra_mounts/)
    })

    test('other mounts that differ are a conflict, and the session is preserved', async () => {
      mkdirSync(join(root, 'extra'), { recursive: true })
      const extra_mounts = [{ host_path: join(root, 'extra'), mount_path: '/mnt/extra', mode: 'ro' }]
      await world.exec('fixed', 'touch /tmp/kept', { host_path: own() })
      const changed = { session_id: 'fixed', cmd: 'true', host_path: own(), extra_mounts }
      expect(await world.failure('box_exec', changed)).toMatch(/^BoxSessionConflictError: .*immutable mount set/)
      expect(await world.exec('fixed', 'ls /tmp', { host_path: own() })).toMatchObject({ stdout: 'kept' })
      // Clients before 0.7.13 have it made again.
      expect(await world.exec('fixed', 'ls /tmp /mnt/extra', { host_path: own(), extra_mounts, skill_name: null })).toMatchObject({
        stdout: '/mnt/extra:\n\n/tmp:',
      })
    })

    test('the status has the capacity of the workspace, and a session says whether a command runs in it', async () => {
      await world.exec('counted', 'true')
      const { sessions } = (await world.call('box_get_sessions')) as { sessions: unknown[] }
      const used = sessions.length
      expect(await world.call('box_status')).toMatchObject({ capacity: { limit: 64, used, remaining: 64 - used } })
      expect(await world.call('box_status', {}, OTHER_CONTEXT)).toMatchObject({ capacity: { limit: 64, used: 0, remaining: 64 - used } })
      expect(await world.call('box_get_session', { session_id: 'counted' })).toMatchObject({ status: 'idle' })
      await world.launch('counted', 'p', 'sleep 600')
      expect(await world.call('box_get_session', { session_id: 'counted' })).toMatchObject({ status: 'idle' })
      const running = world.exec('counted', 'touch /tmp/began; until test -e /tmp/end; do sleep 0.05; done')
      await eventually(() => world.exec('counted', 'ls /tmp/began')).toMatchObject({ exit_code: 0 })
      expect(await world.call('box_get_session', { session_id: 'counted' })).toMatchObject({ status: 'running' })
      await world.exec('counted', 'touch /tmp/end')
      await running
      await world.call('box_delete_session', { session_id: 'counted' })
    })

    test('the storage of the workspace is analysed, on the host and inside', async () => {
      const context = { ...CONTEXT, workspace_uuid: 'ws-stored' }
      const empty = BoxStorageAnalysis.parse(await world.call('box_get_storage_analysis', {}, context))
      expect(empty).toMatchObject({ size_bytes: 0, active_sessions: 0, managed_processes: 0 })
      expect(empty.directories.map(({ key }) => key)).toEqual(['workspace', 'mcp', 'inbox', 'outbox'])
      await world.exec('stored', 'mkdir -p inbox; printf 12345 > inbox/a; printf 123 > b; ln -s /etc c', { host_path: own() })
      await world.exec('apart', 'printf 1234567 > d; head -c 8192 /dev/zero > /tmp/e; mkdir -p ~/.cache; echo x > ~/.cache/f')
      const analysis = BoxStorageAnalysis.parse(await world.call('box_get_storage_analysis'))
      const row = (name: string) => analysis.directories.find(({ key }) => key === name)
      expect(row('inbox')).toMatchObject({
        ...{ kind: 'detail', parent_key: 'workspace', scope: 'runtime_host' },
        size_bytes: 5,
        file_count: 1,
      })
      expect(row('workspace')).toMatchObject({ path: own(), kind: 'root', exists: true, error_count: 0 })
      expect(row('session_workspaces')).toMatchObject({ kind: 'root', exists: true, scope: 'sandbox_sessions' })
      expect(row('session_workspaces')?.size_bytes).toBeGreaterThanOrEqual(7)
      expect(row('session_temp')?.size_bytes).toBeGreaterThanOrEqual(8192)
      expect(row('session_caches')?.file_count).toBeGreaterThanOrEqual(1)
      const roots = analysis.directories.filter(({ kind }) => kind === 'root')
      expect(analysis.size_bytes).toBe(roots.reduce((sum, { size_bytes: bytes }) => sum + bytes, 0))
      expect(JSON.stringify(analysis)).not.toContain(world.home)
    })

    test('an action that is cancelled ends inside, and gets no answer', async () => {
      const client = await world.dial()
      await world.exec('cut', 'true')
      const spec = { session_id: 'cut', cmd: 'echo $$ > /tmp/pid; exec sleep 600', timeout_sec: 300 }
      client.say(JSON.stringify({ seq_id: 7, action: 'box_exec', data: spec, context: CONTEXT }))
      await eventually(() => world.exec('cut', 'test -s /tmp/pid')).toMatchObject({ exit_code: 0 })
      const cancel = (context: object) => client.ask('__cancel_action', { seq_id: 7 }, context)
      expect(await cancel(OTHER_CONTEXT)).toMatchObject({ data: { cancelled: false } })
      expect(await cancel(CONTEXT)).toMatchObject({ data: { cancelled: true } })
      await eventually(() => world.exec('cut', 'kill -0 $(cat /tmp/pid)')).toMatchObject({ exit_code: 1 })
      expect(client.heard.some((text) => text.includes('"seq_id":7,'))).toBe(false)
    })

    test('a relay address that fits several sessions leads to the one that has the process, or to none', async () => {
      for (const id of ['x/y', 'x:y', 'x-y']) await world.exec(id, 'true')
      await world.launch('x/y', 'p', 'while read -r line; do echo "slash $line"; done')
      const relay = await world.relay('x-y', 'p')
      relay.send('one')
      expect(await relay.reads('slash one\n')).toBe('slash one\n')
      await relay.leave()
      await world.launch('x:y', 'p', 'cat')
      const address = `/v1/sessions/${TENANT.placement}-x-y/managed-process/p/ws`
      const refused = await boxRefusal(world.server.url, relayHeaders(), address)
      expect([refused.status, JSON.parse(refused.body)]).toMatchObject([400, { error: { code: 'BoxManagedProcessConflictError' } }])
      // By its own id each is known.
      expect(await world.look('x/y', 'p')).toMatchObject({ status: 'running' })
    })

    test('without a context the default workspace means the workspace’s own directory', async () => {
      const alone = await openBoxWorld(under)
      const path = '/app/data/box/default'
      await alone.exec('chat', 'echo file > out', { host_path: `${path}/tenants/${TENANT.namespace}` })
      const frame = await alone.client.ask('box_exec', { session_id: 'chat', cmd: 'cat out', host_path: path })
      expect(frame).toMatchObject({ code: 0, data: { stdout: 'file' } })
      await alone.close()
    })

    test('a client that asks for grants is refused, one that names another backend is noted', async () => {
      for (const admission of [{ required: true }, { required: 'yes' }, 'all', []])
        expect(await world.failure('box_init', { admission })).toMatch(/^BoxReadinessError: admission/)
      expect(await world.failure('box_init', { backend: 'host' })).toMatch(/^BoxValidationError: backend: 'host' runs commands without/)
      for (const config of [{ admission: { required: false } }, { admission: null }, { backend: 'local' }, { backend: under.kind }])
        await world.call('box_init', config)
      expect(world.logged.join('')).not.toContain('box-backend-differs')
      await world.call('box_init', { backend: 'e2b' })
      expect(world.logged.join('')).toContain('"client":"e2b"')
      await expect(openBoxWorld(under, { HOLDFAST_BOX_CONFIG: '{"admission":{"required":true}}' })).rejects.toMatchObject({
        code: 'config_invalid',
      })
    })

    test('LangBot’s status pages are served with a key, and another tenant sees nothing of it', async () => {
      await world.exec('paged', 'true', { memory_mb: 256 })
      await world.failure('box_exec', { session_id: 'paged', cmd: 'true', memory_mb: 512 })
      const pages = async (headers?: Readonly<Record<string, string>>) => {
        const read = async (name: string) => (await world.rest(`/api/v1/box/${name}`, headers))['data']
        return {
          status: await read('status'),
          runtime: await read('runtime-status'),
          sessions: await read('sessions'),
          errors: await read('errors'),
        }
      }
      const backend = { name: under.kind, available: true }
      const available = { available: true, enabled: true }
      const seen = await pages()
      expect(seen.runtime).toEqual({ ...available, backend })
      expect(seen.status).toMatchObject({ ...available, backend, hidden: false, profile: 'default', session_ttl_sec: 300 })
      expect(seen.sessions).toContainEqual(expect.objectContaining({ session_id: 'paged', memory_mb: 256, status: 'idle' }))
      expect(seen.errors).toContainEqual({
        ...{ timestamp: expect.any(String) as string, type: 'BoxSessionConflictError', query_id: '' },
        ...{ instance_uuid: 'inst-1', workspace_uuid: 'ws-A', message: 'the session exists with memory_mb = 256, not 512' },
      })
      const made = await fetch(`${world.server.url}/v1/tenants`, {
        ...{ method: 'POST', body: '{"name":"other"}' },
        headers: { ...world.adminHeaders(), 'content-type': 'application/json' },
      })
      const { id } = (await made.json()) as { id: string }
      const other = await pages({ 'x-holdfast-tenant': id })
      expect(other.status).toMatchObject({ ...available, active_sessions: 0, recent_error_count: 0 })
      expect([other.sessions, other.errors]).toEqual([[], []])
      expect((await fetch(`${world.server.url}/api/v1/box/sessions`)).status).toBe(401)
    })

    test.runIf(under.kind === 'bubblewrap')('an image is refused where none is run, or ignored with a warning', async () => {
      expect(await world.failure('box_exec', { session_id: 'imaged', cmd: 'true', image: 'node:20' })).toMatch(/^BoxValidationError: /)
      const lax = await openBoxWorld(under, { HOLDFAST_BOX_IGNORE_IMAGES: 'true' })
      const info = await lax.call('box_create_session', { session_id: 'imaged', image: 'node:20' })
      expect(info).toMatchObject({ image: 'node:20', warnings: [expect.stringContaining('node:20 is ignored')] })
      expect(await lax.exec('imaged', 'echo ran', { image: 'node:20' })).toMatchObject({ stdout: 'ran' })
      expect(lax.logged.join('')).toContain('box-image-ignored')
      expect(await lax.call('box_create_session', { session_id: 'usual' })).not.toHaveProperty('warnings')
      await lax.close()
    })
  })
}
