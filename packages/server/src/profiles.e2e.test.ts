/** Profiles and directories of the host in real sandboxes: what is promised is what is seen inside, and what cannot be is refused. */
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExecResult, ProfileList } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../test/environment/backends.ts'
import { DEFAULT_TENANT_ID } from './access/principal.ts'
import { startServer } from './app.ts'
import type { RunningServer } from './app.ts'
import { loadConfig } from './config.ts'
import { sandboxUserOnHost } from './sandboxes/sandbox-user.ts'
import { jsonLog } from './telemetry/log.ts'

const COVERED = ['bubblewrap', 'docker']
const subjects = (await backendsUnderTest()).filter(({ kind }) => COVERED.includes(kind))
const user = sandboxUserOnHost()

for (const subject of subjects) {
  describe.skipIf(subject.skipReason !== null)(`profiles on ${subject.kind}${because(subject)}`, () => {
    /** In a jail `/` is a few links and mounts, and `/usr` is what a program writes to. */
    const hasWholeRoot = subject.kind === 'docker'
    const hasNoRootUser = subject.kind === 'docker'
    let directory: string
    let server: RunningServer | null = null

    const start = async (file = '') => {
      const home = join(directory, 'home')
      mkdirSync(home, { recursive: true })
      writeFileSync(join(home, 'holdfast.yaml'), `mounts: { allowed_roots: ['${join(directory, 'roots')}'] }\n${file}`)
      const settings = {
        ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: subject.kind, HOLDFAST_SESSIONS_ON_STOP: 'suspend' },
        ...{ HOLDFAST_DOCKER_HOST: subject.settings.dockerSocket, HOLDFAST_IMAGE: subject.settings.image },
      }
      server = await startServer(
        loadConfig({}, settings),
        jsonLog('error', () => undefined),
      )
    }
    const request = (path: string, body?: object) =>
      fetch(`${server?.url}${path}`, {
        headers: { authorization: `Bearer ${readFileSync(join(directory, 'home', 'admin.key'), 'utf8').trim()}` },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
    const exec = async (body: object) => ExecResult.parse(await (await request('/v1/exec', body)).json())
    const refusal = async (body: object): Promise<unknown> => (await request('/v1/exec', { command: 'true', ...body })).json()
    /** A directory of the host that the sandbox's user may write. */
    const place = (name: string) => {
      const path = join(directory, 'roots', name)
      mkdirSync(path, { recursive: true })
      if (process.getuid?.() === 0) chownSync(path, user.uid, user.gid)
      return path
    }

    beforeEach(() => {
      directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-profiles-')))
    })
    afterEach(async () => {
      await server?.close()
      server = null
      rmSync(directory, { recursive: true, force: true })
    })

    test('a directory of the host is the workspace, and outlives the session', async () => {
      await start()
      const source = place('work')
      writeFileSync(join(source, 'given'), 'from the host\n')
      const first = await exec({ session: 'a', workspace: { source }, command: 'pwd; cat given; echo made > made' })
      expect(first).toMatchObject({ stdout: '/workspace\nfrom the host\n', stderr: '', exit_code: 0 })
      expect(readFileSync(join(source, 'made'), 'utf8')).toBe('made\n')
      expect((await request(`/v1/sessions/${first.session.id}/release`, {})).status).toBe(200)
      expect(readFileSync(join(source, 'made'), 'utf8')).toBe('made\n')
    })

    test('a read-only one cannot be written, and others are shown where they are wished', async () => {
      await start()
      const [source, data] = [place('work'), place('data')]
      writeFileSync(join(source, 'given'), 'kept\n')
      const mounts = [
        { source: data, target: '/mnt/data', mode: 'rw' },
        { source: data, target: '/workspace/seen', mode: 'ro' },
      ]
      mkdirSync(join(source, 'seen'))
      const result = await exec({
        ...{ session: 'a', workspace: { source, mode: 'ro' }, mounts },
        command: 'echo x > given; echo y > /mnt/data/y; cat given seen/y; echo z > seen/y',
      })
      expect(result).toMatchObject({ stdout: 'kept\ny\n' })
      expect(result.exit_code).not.toBe(0)
      expect([readFileSync(join(source, 'given'), 'utf8'), readFileSync(join(data, 'y'), 'utf8')]).toEqual(['kept\n', 'y\n'])
    })

    test('one at another place leaves the session its own workspace', async () => {
      await start()
      const source = place('work')
      writeFileSync(join(source, 'given'), 'from the host\n')
      const workspace = { source, mode: 'ro', target: '/mnt/work' }
      expect(await exec({ session: 'a', workspace, command: 'cat /mnt/work/given; echo own > own; cat own' })).toMatchObject({
        ...{ stdout: 'from the host\nown\n', exit_code: 0 },
      })
      expect(existsSync(join(source, 'own'))).toBe(false)
    })

    test('offline_readonly has a workspace that cannot be written, and no way to have another', async () => {
      await start()
      const result = await exec({ session: 'a', profile: 'offline_readonly', command: 'touch file; touch /tmp/file && echo tmp' })
      expect(result).toMatchObject({ stdout: 'tmp\n', stderr: expect.stringContaining('ead-only file system') })
      const wishes = [{ network: 'on' }, { workspace: { mode: 'rw' } }, { rootfs: 'writable' }]
      for (const wish of wishes)
        expect(await refusal({ session: 'b', profile: 'offline_readonly', ...wish })).toMatchObject({ code: 'profile_locked' })
    })

    test('the default workspace is made for the tenant and shared by its sessions, except by those that want their own', async () => {
      mkdirSync(join(directory, 'roots'))
      await start(`default_workspace: '${join(directory, 'roots', 'tenants', '{tenant}')}'`)
      await exec({ session: 'a', command: 'echo shared > note' })
      expect(await exec({ session: 'b', command: 'cat note' })).toMatchObject({ stdout: 'shared\n', exit_code: 0 })
      const own = await exec({ session: 'c', workspace: { mode: 'none' }, command: 'ls; touch mine' })
      expect(own).toMatchObject({ stdout: '', exit_code: 0 })
      expect(await (await request(`/v1/sessions/${own.session.id}`)).json()).toMatchObject({
        workspace_mount: { source: null, mode: 'none' },
      })
      const made = join(directory, 'roots', 'tenants', DEFAULT_TENANT_ID)
      expect(existsSync(join(made, 'note'))).toBe(true)
      expect(statSync(made).uid).toBe(user.uid)
    })

    test('what of the host is not allowed is refused at once, for every mount', async () => {
      await start()
      for (const source of ['/', '/etc', '/var/run', '/home', directory, join(directory, 'home')]) {
        expect(await refusal({ session: 'a', workspace: { source } })).toMatchObject({ code: 'mount_refused' })
        const mounts = [
          { source: place('data'), target: '/mnt/data', mode: 'ro' },
          { source, target: '/mnt/x', mode: 'ro' },
        ]
        expect(await refusal({ session: 'a', mounts })).toMatchObject({ code: 'mount_refused' })
      }
      expect(await server?.chosen.backend.list()).toEqual([])
    })

    const profileNamed = async (wanted: string) =>
      ProfileList.parse(await (await request('/v1/profiles')).json()).items.find(({ name }) => name === wanted)

    test('a writable root is given to those who ask for it, or whose profile does', async () => {
      await start('profiles: { roomy: { rootfs: writable } }')
      expect(await profileNamed('network_extended')).toMatchObject({ usable: true, reason: null })
      const command = `awk '$2 == "/${hasWholeRoot ? '' : 'usr'}" { print $4 }' /proc/mounts | cut -c1-2`
      for (const wish of [{ rootfs: 'writable' }, { profile: 'roomy' }])
        expect(await exec({ session: JSON.stringify(wish), ...wish, command })).toMatchObject({ stdout: 'rw\n' })
      expect(await exec({ session: 'b', command })).toMatchObject({ stdout: 'ro\n' })
    })

    test.runIf(hasNoRootUser)('what cannot be honoured is refused with the reason, in a request and in a profile to store', async () => {
      await start()
      const stored: unknown = await (await request('/v1/profiles', { name: 'rooted', user: 'root' })).json()
      for (const problem of [stored, await refusal({ session: 'a', user: 'root' })])
        expect(problem).toMatchObject({ code: 'capability_unsupported', title: expect.stringContaining('commands that run as root') })
    })

    test.runIf(hasNoRootUser)('a configured profile that cannot be honoured keeps the server from starting', async () => {
      await expect(start('profiles: { rooted: { user: root } }')).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining(
          "profiles.rooted: the profile 'rooted' cannot be honoured: docker cannot give commands that run as root",
        ),
      })
      await start('profiles: { fine: { workspace: ro } }')
    })

    test('the profile of the settings is that of every session that names none', async () => {
      await start('profile: offline_readonly')
      expect(await exec({ session: 'a', command: 'touch file' })).toMatchObject({ stderr: expect.stringContaining('ead-only file system') })
      expect(await exec({ session: 'b', profile: 'default', command: 'touch file' })).toMatchObject({ exit_code: 0 })
    })
  })
}
