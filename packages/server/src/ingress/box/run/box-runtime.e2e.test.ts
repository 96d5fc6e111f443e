/** The Box door over real sandboxes: commands, sessions, managed processes and their relay, as a client of the protocol meets them. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../../test/servers/eventually.ts'
import { boxRefusal } from '../contract/box-client.ts'
import { tenantOf } from '../tenant.ts'
import { CONTEXT, dataOf, openBoxWorld, OTHER_CONTEXT, relayHeaders, TENANT } from './contract/box-world.ts'
import type { BoxWorld } from './contract/box-world.ts'

for (const under of await backendsAbovePort()) {
  describe.skipIf(under.skipReason !== null)(`Box clients on ${under.kind}${because(under)}`, () => {
    let world: BoxWorld
    beforeAll(async () => {
      world = await openBoxWorld(under)
    })
    afterAll(() => world.close())

    const pidRuns = async (session: string, pid: string) => (await world.exec(session, `kill -0 ${pid}`)).exit_code === 0

    describe('commands', () => {
      test('a command is run where it is told, and what it printed comes back stripped', async () => {
        const result = await world.exec('s1', 'echo " hello "; echo oops >&2; pwd; exit 3')
        expect(result).toMatchObject({ session_id: 's1', backend_name: under.kind, status: 'completed', exit_code: 3, stderr: 'oops' })
        expect(result.stdout).toBe('hello \n/workspace')
        expect(Number.isInteger(result.duration_ms)).toBe(true)
      })

      test('a directory that is not there is made, and commands of one session run beside each other', async () => {
        const spec = { workdir: '/workspace/deep/down', env: { WORD: 'héllo' } }
        expect(await world.exec('s1', 'pwd; echo $WORD', spec)).toMatchObject({ stdout: '/workspace/deep/down\nhéllo' })
        await world.exec('s1', 'rm -f /tmp/pipe; mkfifo /tmp/pipe')
        const [read, write] = await Promise.all([world.exec('s1', 'cat /tmp/pipe'), world.exec('s1', 'echo met > /tmp/pipe')])
        expect([read.stdout, write.exit_code]).toEqual(['met', 0])
      })

      test('a command that is longer than an argument may be is run all the same', async () => {
        const result = await world.exec('s1', `: '${'x'.repeat(300_000)}'; echo done; cat`)
        expect(result).toMatchObject({ exit_code: 0, stdout: 'done' })
      })

      test('what is printed beyond a MiB is counted', async () => {
        const { stdout, stderr } = await world.exec(
          's1',
          `head -c 1048577 /dev/zero | tr '\\0' x; head -c 1048576 /dev/zero | tr '\\0' y >&2`,
        )
        expect(stdout.endsWith('x\n[output clipped at 1048576 bytes; 1 bytes discarded]')).toBe(true)
        expect(stdout.indexOf('\n')).toBe(1_048_576)
        expect(stderr).toHaveLength(1_048_576)
      })

      test('item 5: a command that takes too long ends, and its session and processes live on', async () => {
        await world.exec('slow', 'echo kept > /tmp/file')
        await world.launch('slow', 'p', 'sleep 600')
        const result = await world.exec('slow', 'echo partial; sleep 600', { timeout_sec: 1 })
        expect(result).toMatchObject({
          status: 'timed_out',
          exit_code: null,
          stdout: 'partial',
          stderr: 'Command timed out after 1 seconds.',
        })
        expect(await world.exec('slow', 'cat /tmp/file')).toMatchObject({ stdout: 'kept' })
        expect(await world.look('slow', 'p')).toMatchObject({ status: 'running' })
      })

      test('items 3 and 12: a caller that leaves takes its command with it, with all that it started', async () => {
        const other = await world.dial()
        await world.exec('left', 'true')
        const cmd = '(sleep 611; echo never) & echo $! > /tmp/child; echo $$ > /tmp/parent; wait'
        void other.ask('box_exec', { session_id: 'left', cmd, timeout_sec: 300 }, CONTEXT)
        await eventually(async () => (await world.exec('left', 'cat /tmp/parent')).exit_code).toBe(0)
        const { stdout } = await world.exec('left', 'cat /tmp/child /tmp/parent')
        await other.leave()
        for (const pid of stdout.split('\n')) await eventually(() => pidRuns('left', pid)).toBe(false)
      })

      test('item 20: what one command leaves behind the next one finds', async () => {
        await world.exec('kept', 'echo a > /tmp/a; sleep 600 > /dev/null 2>&1 & echo $! > /tmp/pid')
        expect(await world.exec('kept', 'cat /tmp/a; kill -0 $(cat /tmp/pid) && echo alive')).toMatchObject({ stdout: 'a\nalive' })
      })

      test('item 24: the text of a command is left as it is', async () => {
        expect(await world.exec('s1', `echo 'x/workspace/y' /workspace`)).toMatchObject({ stdout: 'x/workspace/y /workspace' })
      })
    })

    test('item 15: a command without a context is for the one workspace that is known', async () => {
      const alone = await openBoxWorld(under)
      await alone.exec('only', 'echo mine > /tmp/file')
      expect(dataOf(await alone.client.ask('box_exec', { session_id: 'only', cmd: 'cat /tmp/file' }))).toMatchObject({ stdout: 'mine' })
      await alone.exec('other', 'true', {}, OTHER_CONTEXT)
      const frame = await alone.client.ask('box_exec', { session_id: 'only', cmd: 'cat /tmp/file' })
      expect(frame['message']).toMatch(/^PermissionError: /)
      await alone.close()
    })

    describe('sessions', () => {
      test('what was asked for is told, and asking otherwise is a conflict that names the field and the old value', async () => {
        const spec = { session_id: 'told', persistent: true, cpus: 0.5, memory_mb: 256, pids_limit: 64, image: 'python:3.11-slim' }
        const info = await world.call('box_create_session', spec)
        const asked = { image: 'python:3.11-slim', cpus: 0.5, memory_mb: 256, pids_limit: 64, persistent: true, network: 'off' }
        expect(info).toMatchObject({ session_id: 'told', backend_name: under.kind, host_path: null, mount_path: '/workspace', ...asked })
        expect(info['created_at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
        const others: readonly (readonly [string, unknown, string])[] = [
          ['network', 'on', '"off"'],
          ['image', 'other:1', '"python:3.11-slim"'],
          ['host_path', '/srv/x', 'null'],
          ['host_path_mode', 'ro', '"rw"'],
          ['mount_path', '/mnt/x', '"/workspace"'],
          ['persistent', false, 'true'],
          ['cpus', 1, '0.5'],
          ['memory_mb', 512, '256'],
          ['pids_limit', 128, '64'],
          ['read_only_rootfs', false, 'true'],
          ['workspace_quota_mb', 5, '0'],
        ]
        for (const [field, value, old] of others) {
          const workdir = field === 'mount_path' ? { workdir: '/mnt/x' } : {}
          const message = await world.failure('box_create_session', { ...spec, [field]: value, ...workdir })
          expect(message).toMatch(/^BoxSessionConflictError: /)
          expect(message).toContain(`${field} = ${old}`)
        }
        const free = { env: { A: 'b' }, workdir: '/workspace/else', timeout_sec: 5, skill_name: 'x' }
        expect(await world.call('box_create_session', { ...spec, ...free })).toMatchObject(asked)
      })

      test('item 8: ids that read alike are two sessions', async () => {
        await world.exec('a/b', 'echo slash > /tmp/which')
        await world.exec('a:b', 'echo colon > /tmp/which')
        expect(await world.exec('a/b', 'cat /tmp/which')).toMatchObject({ session_id: 'a-b', stdout: 'slash' })
        expect(await world.exec('a:b', 'cat /tmp/which')).toMatchObject({ session_id: 'a-b', stdout: 'colon' })
        // What the server calls it, it answers to.
        expect(await world.call('box_get_session', { session_id: 'a-b' })).toMatchObject({ session_id: 'a-b' })
        await world.call('box_delete_session', { session_id: 'a/b' })
        expect(await world.exec('a:b', 'cat /tmp/which')).toMatchObject({ stdout: 'colon' })
      })

      test('of another workspace nothing is there', async () => {
        await world.exec('mine', 'true')
        expect(await world.failure('box_get_session', { session_id: 'mine' }, OTHER_CONTEXT)).toMatch(/^BoxSessionNotFoundError: /)
        expect(await world.call('box_get_sessions', {}, OTHER_CONTEXT)).toEqual({ sessions: [] })
        const mine = (await world.call('box_get_sessions'))['sessions'] as { session_id: string }[]
        expect(mine.map(({ session_id: id }) => id)).toContain('mine')
      })

      test('item 11: a deletion does not wait for what runs', async () => {
        await world.exec('doomed', 'true')
        const running = world.client.ask('box_exec', { session_id: 'doomed', cmd: 'touch /tmp/on; sleep 600', timeout_sec: 300 }, CONTEXT)
        await eventually(async () => (await world.exec('doomed', 'ls /tmp/on')).exit_code).toBe(0)
        expect(await world.call('box_delete_session', { session_id: 'doomed' })).toEqual({ deleted: 'doomed' })
        expect((await running)['message']).toMatch(/^BoxSessionNotFoundError: /)
        expect(await world.failure('box_get_session', { session_id: 'doomed' })).toMatch(/^BoxSessionNotFoundError: /)
        expect(await world.exec('doomed', 'ls /tmp/on')).toMatchObject({ exit_code: 2 })
      })

      test('item 21: a session is an ordinary one: owned, labelled, audited and with its files in REST', async () => {
        await world.exec('seen', 'echo content > /workspace/file')
        const key = `${TENANT.placement}-seen`
        const { items } = (await world.rest(`/v1/sessions?key=${key}`)) as { items: Record<string, unknown>[] }
        const labels = { 'box.workspace': TENANT.namespace, 'box.generation': '1' }
        expect(items).toMatchObject([{ key, owner: `langbot:${TENANT.namespace}`, on_idle: 'release', labels }])
        const { items: audit } = (await world.rest(`/v1/audit?session=${String(items[0]?.['id'])}`)) as { items: unknown[] }
        expect(JSON.stringify(audit)).toContain('session.create')
        const executions = await world.rest(`/v1/sessions/${String(items[0]?.['id'])}/executions`)
        expect(executions).toMatchObject({ items: [{ status: 'completed', actor: `langbot:${TENANT.namespace}` }] })
      })

      test('another generation drops what older ones had', async () => {
        const first = { ...CONTEXT, workspace_uuid: 'ws-moved' }
        await world.exec('gone', 'true', {}, first)
        expect(await world.call('box_get_sessions', {}, { ...first, placement_generation: 2 })).toEqual({ sessions: [] })
        expect(await world.failure('box_get_sessions', {}, first)).toMatch(/^PermissionError: /)
      })

      test('item 23: what goes wrong is told without physical ids and places of the server', async () => {
        const messages = [
          await world.failure('box_get_session', { session_id: 'none' }),
          await world.failure('box_exec', { session_id: 'x', cmd: 'true', host_path: '/etc' }),
          await world.failure('box_exec', { session_id: 'x', cmd: 'true', host_path: `${world.home}/workspaces` }),
          await world.failure('box_get_managed_process', { session_id: 's1', process_id: 'none' }),
          await world.failure('box_exec', { session_id: 'x', cmd: 'true', cpus: 'many' }),
        ]
        for (const message of messages) {
          expect(message).toMatch(/^Box\w+Error: /)
          expect(message).not.toMatch(/ws-[0-9a-f]{24}/)
          expect(message).not.toContain(world.home)
        }
      })
    })

    describe('directories of the host', () => {
      let directory: string
      let sharing: BoxWorld
      beforeAll(async () => {
        directory = mkdtempSync(join(tmpdir(), 'holdfast-box-root-'))
        sharing = await openBoxWorld(under, { HOLDFAST_BOX_HOST_ROOT: directory })
      })
      afterAll(async () => {
        await sharing.close()
        rmSync(directory, { recursive: true, force: true })
      })
      const own = () => join(directory, 'default', 'tenants', TENANT.namespace)

      test('the workspace’s own directory is made, shown and shared by its sessions', async () => {
        const spec = { host_path: own() }
        expect(await sharing.exec('h1', 'echo one > file; cat file', spec)).toMatchObject({ exit_code: 0, stdout: 'one' })
        expect(statSync(join(own(), 'file')).size).toBe(4)
        expect(await sharing.exec('h2', 'cat file', spec)).toMatchObject({ stdout: 'one' })
        expect(await sharing.exec('h3', 'cat file; echo x > file', { ...spec, host_path_mode: 'ro' })).toMatchObject({ stdout: 'one' })
        const elsewhere = { host_path: own(), mount_path: '/mnt/data', workdir: '/mnt/data' }
        expect(await sharing.exec('h4', 'pwd; cat file; ls /workspace', elsewhere)).toMatchObject({ stdout: '/mnt/data\none' })
        expect(await sharing.exec('h5', 'ls', { ...spec, host_path_mode: 'none' })).toMatchObject({ stdout: '' })
      })

      test('a directory of the client’s own machine is one of the server’s here', async () => {
        for (const path of [`/app/data/box/default/tenants/${TENANT.namespace}`, `C:\\bot\\data\\box\\tenants\\${TENANT.namespace}`]) {
          const session = path.startsWith('/') ? 'far-1' : 'far-2'
          expect(await sharing.exec(session, 'echo far >> file; cat file', { host_path: path })).toMatchObject({ exit_code: 0 })
          expect(existsSync(join(directory, 'tenants', TENANT.namespace, 'file'))).toBe(true)
        }
        expect(await sharing.exec('far-2', 'cat file', { host_path: `C:\\bot\\data\\box\\tenants\\${TENANT.namespace}` })).toMatchObject({
          stdout: 'far\nfar',
        })
        // Without a root of the operator's choice it is in the home, which nothing else of is ever shown.
        const path = `/app/data/box/default/tenants/${TENANT.namespace}`
        expect(await world.exec('far', 'echo far > file; cat file', { host_path: path })).toMatchObject({ stdout: 'far' })
      })

      test('item 2: every mount passes the rules, the whole host among them', async () => {
        mkdirSync(join(directory, 'good'), { recursive: true })
        symlinkSync('/etc', join(directory, 'link'))
        const other = join(directory, 'tenants', 'ws-000000000000000000000000')
        mkdirSync(other, { recursive: true })
        for (const path of ['/', '/etc', '/proc', '/root', '/var/run', '/usr', join(directory, 'link'), other, world.home, sharing.home]) {
          const asked = [
            { host_path: path, host_path_mode: 'ro' },
            { extra_mounts: [{ host_path: path, mount_path: '/mnt/x', mode: 'ro' }] },
            { extra_mounts: [{ host_path: path, mount_path: '/workspace/.skills/x', mode: 'ro' }] },
          ]
          for (const spec of asked) {
            const message = await sharing.failure('box_exec', { session_id: 'blocked', cmd: 'ls', ...spec })
            expect(message, JSON.stringify(spec)).toMatch(/^BoxValidationError: /)
          }
        }
        expect(await sharing.failure('box_get_session', { session_id: 'blocked' })).toMatch(/^BoxSessionNotFoundError: /)
      })

      test('a client’s own roots narrow what the operator allows', async () => {
        const outside = mkdtempSync(join(tmpdir(), 'holdfast-box-outside-'))
        await sharing.call('box_init', { local: { allowed_mount_roots: [outside] } })
        expect(await sharing.failure('box_exec', { session_id: 'o', cmd: 'ls', host_path: outside })).toMatch(/^BoxValidationError: /)
        expect(await sharing.exec('still', 'true', { host_path: own() })).toMatchObject({ exit_code: 0 })
        await sharing.call('box_init', { local: {} })
        rmSync(outside, { recursive: true })
      })

      test('item 20: other mounts make another sandbox, and processes see them too', async () => {
        mkdirSync(join(directory, 'extra'), { recursive: true })
        writeFileSync(join(directory, 'extra', 'file'), 'shown')
        const mount = { host_path: join(directory, 'extra'), mount_path: '/mnt/extra', mode: 'ro' }
        const spec = { host_path: own(), skill_name: null }
        await sharing.exec('mounted', 'echo kept > kept; touch /tmp/old', spec)
        const more = { ...spec, extra_mounts: [mount, { ...mount, mount_path: '/mnt/none', mode: 'none' }] }
        expect(await sharing.exec('mounted', 'cat /mnt/extra/file kept; ls /tmp', more)).toMatchObject({ stdout: 'shownkept' })
        await sharing.launch('mounted', 'p', 'cat /mnt/extra/file >&2')
        await eventually(async () => (await sharing.look('mounted', 'p')).stderr_preview).toBe('shown')
        await sharing.exec('mounted', 'touch /tmp/old', more)
        expect(await sharing.exec('mounted', 'ls /tmp', { ...more, extra_mounts: [more.extra_mounts[1], mount] })).toMatchObject({
          stdout: 'old',
        })
        const { items } = (await sharing.rest(`/v1/sessions?key=${TENANT.placement}-mounted`)) as { items: unknown[] }
        expect(items).toMatchObject([{ incarnation: 2 }])
      })

      test('skills appear, change and go in the same sandbox', async () => {
        const { skill } = (await sharing.call('box_create_skill', { skill: { name: 'demo', instructions: 'first' } })) as {
          skill: { package_root: string }
        }
        const mount = { host_path: skill.package_root, mount_path: '/workspace/.skills/demo', mode: 'rw' }
        const spec = { host_path: own() }
        await sharing.exec('skilled', 'touch /tmp/same', spec)
        const bound = { ...spec, extra_mounts: [mount] }
        const read = 'tail -n 1 .skills/demo/SKILL.md; echo; ls /tmp'
        expect(await sharing.exec('skilled', read, bound)).toMatchObject({ stdout: 'first\nsame' })
        await sharing.call('box_update_skill', { name: 'demo', skill: { instructions: 'second' } })
        expect(await sharing.exec('skilled', read, bound)).toMatchObject({ stdout: 'second\nsame' })
        // Also what was changed behind the store's back.
        writeFileSync(join(skill.package_root, 'SKILL.md'), '---\nname: demo\n---\n\nthird')
        await eventually(async () => (await sharing.exec('skilled', read, bound)).stdout).toBe('third\nsame')
        expect(await sharing.exec('skilled', 'ls .skills /tmp', spec)).toMatchObject({ stdout: '.skills:\n\n/tmp:\nsame' })
        const missing = { ...mount, host_path: `${skill.package_root}-gone`, mount_path: '/workspace/.skills/gone' }
        const foreign = { ...missing, host_path: '/somewhere/skills/gone' }
        for (const absent of [missing, foreign])
          expect(await sharing.exec('skilled', 'ls .skills', { ...spec, extra_mounts: [mount, absent] })).toMatchObject({ stdout: 'demo' })
        expect(existsSync(missing.host_path)).toBe(false)
      })

      test('item 16: a skill that was written in the workspace can be registered', async () => {
        const spec = { host_path: own() }
        const write = 'mkdir -p new/sub; printf %s "$TEXT" > new/SKILL.md; echo 1 > new/sub/run; chmod +x new/sub/run'
        await sharing.exec('author', write, { ...spec, env: { TEXT: '---\nname: grown\n---\n\nby hand' } })
        for (const root of [join(own(), 'new'), `/app/elsewhere/tenants/${TENANT.namespace}/none`]) {
          const isHere = root.startsWith(directory)
          const answer = await sharing.client.ask('box_scan_skill_directory', { path: root }, CONTEXT)
          expect(answer).toMatchObject(isHere ? { code: 0, data: { name: 'grown', instructions: 'by hand' } } : { code: 1 })
        }
        const skill = { name: 'grown', package_root: join(own(), 'new'), description: 'made inside' }
        const { skill: made } = (await sharing.call('box_create_skill', { skill })) as { skill: { package_root: string } }
        expect(made).toMatchObject({ name: 'grown', description: 'made inside', instructions: 'by hand' })
        expect(made.package_root.startsWith(own())).toBe(false)
        expect(statSync(join(made.package_root, 'sub', 'run')).mode & 0o100).toBe(0o100)
        const links = 'mkdir -p bad; ln -s /etc/hostname bad/SKILL.md; ln -s new linked'
        await sharing.exec('author', links, spec)
        for (const name of ['bad', 'linked']) {
          const hostile = { name: `x-${name}`, package_root: join(own(), name) }
          expect(await sharing.failure('box_create_skill', { skill: hostile })).toMatch(/^BoxValidationError: /)
        }
      })

      test('item 22: a skill that is written anew keeps what its author said beyond the usual', async () => {
        const { skill } = (await sharing.call('box_create_skill', { skill: { name: 'kept', instructions: 'a' } })) as {
          skill: { package_root: string; entry_file: string }
        }
        const content = '---\nname: kept\nlicense: MIT\n---\n\nbody\n'
        await sharing.call('box_write_skill_file', { name: 'kept', path: skill.entry_file, content })
        await sharing.call('box_update_skill', { name: 'kept', skill: { description: 'new' } })
        const { content: after } = await sharing.call('box_read_skill_file', { name: 'kept', path: skill.entry_file })
        expect(after).toContain('license: MIT')
        expect(after).toContain('description: new')
      })

      test('every change to a skill is in the audit, by the workspace that made it', async () => {
        const context = { ...CONTEXT, workspace_uuid: 'ws-audited' }
        await sharing.call('box_create_skill', { skill: { name: 'noted', instructions: 'never told' } }, context)
        await sharing.failure('box_create_skill', { skill: { name: 'noted' } }, context)
        await sharing.call('box_write_skill_file', { name: 'noted', path: 'a.txt', content: 'never told' }, context)
        await sharing.call('box_update_skill', { name: 'noted', skill: { instructions: 'never told' } }, context)
        await sharing.call('box_delete_skill', { name: 'noted' }, context)
        const { items } = (await sharing.rest('/v1/audit?page_size=200')) as {
          items: { action: string; outcome: string; resource: object; actor: { subject: string } }[]
        }
        const changes = items.filter(({ actor }) => actor.subject === `langbot:${tenantOf(context).namespace}`).toReversed()
        expect(changes.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
          ...['skill.create success', 'skill.create failure', 'skill.write-file success', 'skill.update success', 'skill.remove success'],
        ])
        for (const { resource } of changes) expect(resource).toEqual({ type: 'skill', id: 'noted' })
        const adopted = items.filter(({ action, outcome }) => action === 'skill.adopt' && outcome === 'success')
        expect(adopted).toMatchObject([{ resource: { id: 'grown' }, actor: { subject: `langbot:${TENANT.namespace}` } }])
        expect(JSON.stringify(items)).not.toContain('never told')
      })

      test('client and server find out whether they see the same directory', async () => {
        const name = `.langbot-box-volume-probe-${'0123456789abcdef'.repeat(2)}`
        await sharing.call('box_init', { local: { default_workspace: '' } })
        expect(await sharing.failure('box_verify_shared_workspace', { marker_name: name })).toMatch(/^BoxReadinessError: /)
        symlinkSync('/etc/hostname', join(directory, 'default', name))
        expect(await sharing.failure('box_verify_shared_workspace', { marker_name: name })).toMatch(/^BoxReadinessError: /)
        rmSync(join(directory, 'default', name))
        writeFileSync(join(directory, 'default', name), 'probe')
        expect(await sharing.call('box_verify_shared_workspace', { marker_name: name })).toEqual({
          ...{ marker_name: name, size: 5 },
          sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        })
      })
    })

    describe('managed processes', () => {
      test('one is told of while it runs and after it ended, with what it complained of', async () => {
        await world.exec('m', 'true')
        const id = 'any text: ünï/цode 🦊'
        const started = await world.launch('m', id, 'echo ready >&2; read line; echo bye >&2; exit 7', { env: { B: '1', A: '2' } })
        const facts = { session_id: 'm', process_id: id, command: 'sh', cwd: '/workspace', env_keys: ['A', 'B'], attached: false }
        expect(started).toMatchObject({ ...facts, status: 'running', exit_code: null, exited_at: null })
        await eventually(async () => (await world.look('m', id)).stderr_preview).toBe('ready')
        const relay = await world.relay('m', id)
        await eventually(async () => (await world.look('m', id)).attached).toBe(true)
        relay.send('go')
        expect(await relay.closed).toBe(1000)
        await eventually(() => world.look('m', id)).toMatchObject({
          ...facts,
          status: 'exited',
          exit_code: 7,
          stderr_preview: 'ready\nbye',
        })
        const { managed_processes: all } = await world.call('box_get_session', { session_id: 'm' })
        expect(all).toMatchObject({ [id]: { status: 'exited', exit_code: 7 } })
        const refused = await boxRefusal(
          world.server.url,
          relayHeaders(),
          `/v1/sessions/${TENANT.placement}-m/managed-process/${encodeURIComponent(id)}/ws`,
        )
        expect(refused).toMatchObject({ status: 400 })
        expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'BoxManagedProcessConflictError' } })
      })

      test('a program that is not there is a process that ended', async () => {
        await world.exec('m', 'true')
        await world.launch('m', 'nothing', '', { command: 'no-such-program', args: [] })
        await eventually(() => world.look('m', 'nothing')).toMatchObject({ status: 'exited', exit_code: 127 })
      })

      test('item 3: one of the same id takes its place, and the old one is gone with its tree', async () => {
        await world.exec('r', 'true')
        const command = 'setsid sleep 600 & echo $! > /tmp/$NAME; wait'
        await world.launch('r', 'p', command, { env: { NAME: 'one' } })
        await eventually(async () => (await world.exec('r', 'cat /tmp/one')).exit_code).toBe(0)
        await world.launch('r', 'p', command, { env: { NAME: 'two' } })
        await eventually(async () => (await world.exec('r', 'cat /tmp/two')).exit_code).toBe(0)
        const [one, two] = (await world.exec('r', 'cat /tmp/one /tmp/two')).stdout.split('\n')
        expect([await pidRuns('r', one ?? ''), await pidRuns('r', two ?? '')]).toEqual([false, true])
        expect(await world.call('box_stop_managed_process', { session_id: 'r', process_id: 'p' })).toEqual({ stopped: 'p' })
        expect(await pidRuns('r', two ?? '')).toBe(false)
        const lost = { session_id: 'r', process_id: 'p' }
        expect(await world.failure('box_get_managed_process', lost)).toMatch(/^BoxManagedProcessNotFoundError: /)
      })

      test('item 9: the status counts what runs', async () => {
        const context = { ...CONTEXT, workspace_uuid: 'ws-counted' }
        await world.exec('c', 'true', {}, context)
        const status = () => world.call('box_status', {}, context)
        expect(await status()).toMatchObject({ active_sessions: 1, managed_processes: 0, session_ttl_sec: 300 })
        for (const id of ['a', 'b']) {
          const spec = { process_id: id, command: 'sleep', args: ['600'] }
          await world.call('box_start_managed_process', { session_id: 'c', spec }, context)
        }
        expect(await status()).toMatchObject({ active_sessions: 1, managed_processes: 2, backend: { name: under.kind, available: true } })
        await world.call('box_stop_managed_process', { session_id: 'c', process_id: 'a' }, context)
        expect(await status()).toMatchObject({ managed_processes: 1 })
      })

      test('item 10: a burst of complaints is not lost', async () => {
        await world.exec('m', 'true')
        await world.launch('m', 'burst', `head -c 9000 /dev/zero | tr '\\0' e >&2; echo end >&2; sleep 600`)
        await eventually(async () => (await world.look('m', 'burst')).stderr_preview.length).toBe(3999)
        expect((await world.look('m', 'burst')).stderr_preview.endsWith('eeeend')).toBe(true)
      })

      test('items 17 and 21: a session with a process that runs does not end, and its client sets no time to it', async () => {
        await world.exec('alive', 'true')
        await world.launch('alive', 'p', 'sleep 600')
        const { items } = (await world.rest(`/v1/sessions?key=${TENANT.placement}-alive`)) as { items: Record<string, unknown>[] }
        expect(items).toMatchObject([{ state: 'active', expires_at: null, running: 1 }])
        const { items: executions } = (await world.rest(`/v1/sessions/${String(items[0]?.['id'])}/executions`)) as { items: unknown[] }
        expect(executions).toContainEqual(expect.objectContaining({ kind: 'process', status: 'running', timeout_ms: null }))
      })
    })

    describe('the relay', () => {
      test('item 1: one message is one line, however quickly and however long they come', async () => {
        await world.exec('relay', 'true')
        await world.launch('relay', 'default', 'while read -r line; do printf "%s\\n%s\\n" "$line" "$line"; done')
        const relay = await world.relay('relay')
        relay.send('{"a":1}')
        await relay.until((message) => message === '{"a":1}\n')
        const long = `{"long":"${'漢🦊'.repeat(30_000)}"}`
        relay.send(long)
        await relay.until((message) => message === `${long}\n`)
        relay.send('end')
        await eventually(() => relay.messages.filter((message) => message === 'end\n').length).toBe(2)
        expect(relay.messages.every((message) => message.endsWith('\n') && message.indexOf('\n') === message.length - 1)).toBe(true)
        expect(relay.messages).toHaveLength(6)
        relay.socket.send(Buffer.from('binary is ignored'), { binary: true })
        relay.send('after')
        await relay.reads('after\n')
        await relay.leave()
      })

      test('a line of many MiB comes in pieces below 1 MiB with whole characters, and nothing of it is lost', async () => {
        await world.exec('relay', 'true')
        const print = `python3 -c "import sys; sys.stdout.write('x' + '\\u6f22\\U0001f98a' * 700000 + '\\n'); sys.stdout.flush(); sys.stdin.readline()"`
        await world.launch('relay', 'long', print)
        const relay = await world.relay('relay', 'long')
        await relay.until((message) => message.endsWith('\n'))
        expect(relay.messages.length).toBeGreaterThan(4)
        expect(relay.messages.every((message) => Buffer.byteLength(message) < 1_048_576)).toBe(true)
        expect(relay.messages.join('') === `x${'漢🦊'.repeat(700_000)}\n`).toBe(true)
        relay.send('')
        expect(await relay.closed).toBe(1000)
      })

      test('what is printed while nobody is there waits, and a process that prints much waits too', async () => {
        await world.exec('relay', 'true')
        await world.launch('relay', 'count', 'i=0; while [ $i -lt 100000 ]; do echo line $i; i=$((i+1)); done; echo done; read end')
        const first = await world.relay('relay', 'count')
        await first.reads('line 1000\n')
        await first.leave()
        const second = await world.relay('relay', 'count')
        await second.reads('done\n')
        const all = [...first.messages, ...second.messages]
        expect(all.filter((line) => !line.endsWith('\n'))).toEqual([])
        const numbers = [...new Set(all.filter((line) => line.startsWith('line')).map((line) => Number(line.slice(5))))]
        expect(numbers).toHaveLength(100_000)
        expect(numbers.every((number, index) => number === index)).toBe(true)
        second.send('')
        expect(await second.closed).toBe(1000)
      })

      test('a client that does not read holds the process up, and nobody else', async () => {
        await world.exec('relay', 'true')
        await world.launch('relay', 'flood', `exec yes ${'y'.repeat(99)}`)
        const slow = await world.relay('relay', 'flood')
        await slow.until(() => true)
        slow.socket.pause()
        const other = await world.launch('relay', 'echo', 'exec cat')
        expect(other.status).toBe('running')
        const relay = await world.relay('relay', 'echo')
        for (let turn = 0; turn < 50; turn += 1) {
          relay.send(`turn ${turn}`)
          await relay.reads(`turn ${turn}\n`)
        }
        const held = process.memoryUsage().rss
        for (let turn = 50; turn < 200; turn += 1) {
          relay.send(`turn ${turn}`)
          await relay.reads(`turn ${turn}\n`)
        }
        expect(process.memoryUsage().rss - held).toBeLessThan(100_000_000)
        // Its end does not wait for whoever does not read.
        await world.call('box_stop_managed_process', { session_id: 'relay', process_id: 'flood' })
        slow.socket.terminate()
      })

      test('a process that does not read holds its client up, and the server reads no more', async () => {
        await world.exec('relay', 'true')
        await world.launch('relay', 'deaf', 'sleep 600')
        const relay = await world.relay('relay', 'deaf')
        for (let sent = 0; sent < 40; sent += 1) relay.send('x'.repeat(500_000))
        expect(await world.exec('relay', 'echo fine')).toMatchObject({ stdout: 'fine' })
        expect(relay.socket.bufferedAmount).toBeGreaterThan(1_000_000)
        relay.socket.terminate()
        await world.call('box_stop_managed_process', { session_id: 'relay', process_id: 'deaf' })
      })

      test('one client has it at a time: the next gets its socket at once, and its turn when the first has left', async () => {
        await world.exec('relay', 'true')
        await world.launch('relay', 'turns', 'exec cat')
        const first = await world.relay('relay', 'turns')
        first.send('mine')
        await first.reads('mine\n')
        const second = await world.relay('relay', 'turns')
        second.send('waited')
        first.send('still mine')
        await first.reads('still mine\n')
        expect(second.messages).toEqual([])
        await first.leave()
        await second.reads('waited\n')
        expect(second.messages).toEqual(['waited\n'])
        await second.leave()
        await eventually(async () => (await world.look('relay', 'turns')).attached).toBe(false)
      })

      test('a prompt without an end is shown after a moment', async () => {
        await world.exec('relay', 'true')
        await world.launch('relay', 'prompt', 'printf "name? "; read name; echo "hello $name"; sleep 600')
        const relay = await world.relay('relay', 'prompt')
        await relay.reads('name? ')
        relay.send('ada')
        await relay.reads('hello ada\n')
        await relay.leave()
      })

      test('what cannot be attached to is refused before there is a socket', async () => {
        const refusal = (path: string, context = CONTEXT) => boxRefusal(world.server.url, relayHeaders(context), path)
        const at = (session: string, rest: string) => `/v1/sessions/${TENANT.placement}-${session}/managed-process${rest}`
        await world.exec('relay', 'true')
        expect(await refusal(at('relay', '/none/ws'))).toMatchObject({ status: 400, type: expect.stringContaining('application/json') })
        expect(JSON.parse((await refusal(at('relay', '/none/ws'))).body)).toMatchObject({
          error: { code: 'BoxManagedProcessNotFoundError' },
        })
        expect(JSON.parse((await refusal(at('absent', '/ws'))).body)).toMatchObject({ error: { code: 'BoxSessionNotFoundError' } })
        expect(await refusal(at('relay', '/none/ws'), OTHER_CONTEXT)).toMatchObject({ status: 401, body: 'Unauthorized' })
        const stranger = { ...relayHeaders(), 'x-langbot-instance-id': 'inst-2' }
        expect(await boxRefusal(world.server.url, stranger, at('relay', '/ws'))).toMatchObject({ status: 401 })
      })
    })

    describe('limits', () => {
      test('capacity errors name what is full', async () => {
        const context = { ...CONTEXT, workspace_uuid: 'ws-full' }
        await world.exec('full', 'true', {}, context)
        await world.call('box_init', { limits: { max_sessions: 1, max_managed_processes: 0 } })
        try {
          expect(await world.failure('box_create_session', { session_id: 'more' }, context)).toMatch(
            /^BoxCapacityExceededError: 1 sessions/,
          )
          const spec = { command: 'true' }
          expect(await world.failure('box_start_managed_process', { session_id: 'full', spec }, context)).toMatch(
            /^BoxCapacityExceededError: 0 managed/,
          )
          expect(await world.exec('full', 'echo fine', {}, context)).toMatchObject({ stdout: 'fine' })
          expect(await world.failure('box_init', { limits: { max_sessions: true } })).toMatch(/^ValueError: /)
          expect(await world.call('box_status', {}, context)).toMatchObject({ limits: { max_sessions: 1 } })
        } finally {
          await world.call('box_init', { limits: {} })
        }
      })

      test('of those that ended the oldest are told of no more when there are too many, and after a restart the same ones', async () => {
        const told = async () => {
          const { managed_processes: all = {} } = await world.call('box_get_session', { session_id: 'ended' })
          return Object.keys(all as object).toSorted()
        }
        const ends = async (id: string) => {
          await world.launch('ended', id, 'true')
          await eventually(async () => (await world.look('ended', id)).status).toBe('exited')
        }
        await world.exec('ended', 'true')
        for (const id of ['first', 'second', 'third']) await ends(id)
        await world.launch('ended', 'running', 'sleep 600')
        expect(await told()).toEqual(['first', 'running', 'second', 'third'])
        await world.call('box_init', { limits: { max_completed_processes: 2 } })
        try {
          expect(await told()).toEqual(['running', 'second', 'third'])
          expect(await world.failure('box_get_managed_process', { session_id: 'ended', process_id: 'first' })).toMatch(
            /^BoxManagedProcessNotFoundError: /,
          )
          await ends('fourth')
          expect(await told()).toEqual(['fourth', 'running', 'third'])
          // One that was stopped takes no place, and one of another workspace does.
          await world.launch('ended', 'stopped', 'sleep 600')
          await world.call('box_stop_managed_process', { session_id: 'ended', process_id: 'stopped' })
          expect(await told()).toEqual(['fourth', 'running', 'third'])
          await world.exec('ended', 'true', {}, OTHER_CONTEXT)
          const spec = { process_id: 'elsewhere', command: 'true' }
          await world.call('box_start_managed_process', { session_id: 'ended', spec }, OTHER_CONTEXT)
          await eventually(told).toEqual(['fourth', 'running'])
          await world.restart()
          await world.call('box_init', { limits: { max_completed_processes: 2 } })
          expect(await told()).toEqual(['fourth', 'running'])
          await world.call('box_init', { limits: { max_completed_processes: 0 } })
          expect(await told()).toEqual(['running'])
        } finally {
          await world.call('box_init', { limits: {} })
        }
      })

      test('item 18: what a client says of backends changes neither the backend nor its sessions', async () => {
        await world.exec('s1', 'touch /tmp/before')
        await world.call('box_init', { backend: 'e2b', e2b: { api_key: 'k' }, unknown: [1] })
        expect(await world.call('box_get_backend_info')).toEqual({ name: under.kind, available: true })
        expect(await world.exec('s1', 'ls /tmp/before')).toMatchObject({ exit_code: 0 })
      })

      test('item 19: memory is bounded as it was asked, or the session is refused', async () => {
        const hog = 'python3 -c "b = bytearray(200_000_000); print(len(b))"'
        const frame = await world.client.ask('box_exec', { session_id: 'hog', cmd: hog, memory_mb: 64 }, CONTEXT)
        const isRefused = /^BoxValidationError: .*limit the memory/.test(String(frame['message']))
        expect(isRefused || (frame['data'] as { exit_code: number }).exit_code !== 0).toBe(true)
        expect((frame['data'] as { stdout?: string }).stdout ?? '').toBe('')
      })

      test('item 4: a sandbox that cannot be made is a failure, never a result', async () => {
        const message = await world.failure('box_exec', { session_id: 'nowhere', cmd: 'true', image: 'no-such-image:1' })
        expect(message).toMatch(/^BoxValidationError: /)
        await eventually(() => world.failure('box_get_session', { session_id: 'nowhere' })).toMatch(/^BoxSessionNotFoundError: /)
      })
    })

    test('item 7: another server on the same machine is left alone', async () => {
      await world.exec('spared', 'touch /tmp/here')
      const other = await openBoxWorld(under)
      await other.exec('spared', 'touch /tmp/there')
      await other.restart()
      expect(await other.exec('spared', 'ls /tmp')).toMatchObject({ stdout: 'there' })
      await other.close()
      expect(await world.exec('spared', 'ls /tmp')).toMatchObject({ stdout: 'here' })
    })

    test('item 6: a server that stops and starts has its sessions and processes still, and loses no line', async () => {
      await world.exec('lasting', 'touch /tmp/here')
      await world.launch('lasting', 'p', 'echo begun >&2; echo $$; while read -r line; do echo "heard $line"; done')
      const before = await world.relay('lasting', 'p')
      const pid = await before.until(() => true)
      before.send('one')
      await before.reads('heard one\n')
      before.send('two')
      await before.reads('heard two\n')
      const started = await world.look('lasting', 'p')
      expect(started.stderr_preview).toBe('begun')
      await world.restart()
      expect(await before.closed).toBe(1001)
      expect(await world.look('lasting', 'p')).toMatchObject({ status: 'running', command: 'sh', started_at: started.started_at })
      // What the server had not written down comes again from inside.
      await eventually(() => world.look('lasting', 'p')).toEqual({ ...started, attached: false })
      const after = await world.relay('lasting', 'p')
      after.send('three')
      await after.reads('heard three\n')
      expect(after.messages).toEqual(['heard three\n'])
      expect(await pidRuns('lasting', pid.trim())).toBe(true)
      expect(await world.exec('lasting', 'ls /tmp')).toMatchObject({ stdout: 'here' })
      await after.leave()
    })

    test('what a client shuts down is gone in every workspace, and the server serves on', async () => {
      await world.exec('last', 'true')
      await world.call('box_shutdown')
      expect(await world.call('box_get_sessions')).toEqual({ sessions: [] })
      expect(await world.exec('last', 'echo again')).toMatchObject({ stdout: 'again' })
    })
  })
}
