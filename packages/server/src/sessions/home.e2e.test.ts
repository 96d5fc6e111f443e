/** `/home/user` is on disk, belongs to the session and outlives its sandboxes; a reset empties it and nothing else. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateTenantBody } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../test/servers/person.ts'
import type { Ask, Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'

const EPHEMERAL: Ask = { wish: { home: 'ephemeral' } }
const PACKED: Ask = { pack: 'small' }
const KEEP = 'mkdir -p ~/.local/bin && echo "echo kept" > ~/.local/bin/tool && chmod +x ~/.local/bin/tool && echo kept > kept'

for (const under of await backendsUnderTest()) {
  describe.skipIf(under.skipReason !== null)(`the home on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person
    let shown: string

    async function start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
      server = await ground.start('one', { HOLDFAST_MOUNTS_ALLOWED_ROOTS: shown, ...settings })
      alice = await personOf(server)
    }
    beforeEach(async () => {
      shown = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-shown-')))
      ground = openGround(under)
      await start()
    })
    afterEach(async () => {
      await ground.close()
      rmSync(shown, { recursive: true, force: true })
    })
    const suspend = (id: string) => server.sessions.steering.suspend(alice.caller, id)
    const reset = (id: string, ifBusy: 'fail' | 'kill' = 'fail') => server.sessions.steering.resetHome(alice.caller, id, ifBusy)
    const placeOf = (id: string) => join(server.home.workspacesDir, id)
    const homesOf = (place: string) => readdirSync(place).filter((name) => name.startsWith('home'))

    test('what was installed there is there after suspend, restart of the server and loss of the sandbox', async () => {
      const { session } = await alice.sh('a', KEEP)
      await suspend(session.id)
      expect(await alice.sh('a', 'tool; cat kept')).toMatchObject({ stdout: 'kept\nkept\n', session: { workspace: 'intact' } })
      await server.close()
      await start()
      expect((await alice.sh('a', 'tool')).stdout).toBe('kept\n')
      const [name = ''] = await server.sandboxes()
      await server.backend.destroy(name)
      await eventually(async () => (await server.sessions.reads.open(alice.caller, 'read', session.id)).state).toBe('suspended')
      expect((await alice.sh('a', 'tool')).stdout).toBe('kept\n')
    })

    test('programs have a TMPDIR of their own in it, on disk, which is empty in every new sandbox', async () => {
      const use = 'mktemp; stat -c %a "$TMPDIR"; find "$TMPDIR" -type f | wc -l'
      const { session, stdout } = await alice.sh('a', use)
      expect(stdout).toMatch(/^\/home\/user\/\.tmp\/tmp\.\w+\n700\n1\n$/)
      await suspend(session.id)
      expect((await alice.sh('a', use)).stdout).toMatch(/\n1\n$/)
      expect((await alice.sh('b', 'mktemp', { ask: EPHEMERAL })).stdout).toMatch(/^\/tmp\//)
    })

    test('an ephemeral one is empty in every new sandbox, and nothing of it is on disk', async () => {
      const { session } = await alice.sh('a', KEEP, { ask: EPHEMERAL })
      expect(homesOf(placeOf(session.id)).flatMap((name) => readdirSync(join(placeOf(session.id), name)))).toEqual(['.tmp'])
      await suspend(session.id)
      expect((await alice.sh('a', 'ls -A ~; cat kept')).stdout).toBe('kept\n')
      await expect(alice.get('a', { wish: { home: 'persistent' } })).rejects.toMatchObject({ code: 'session_incompatible' })
    })

    test('a session from before homes were kept gets one with its next sandbox and loses nothing', async () => {
      const { session } = await alice.sh('a', KEEP)
      await suspend(session.id)
      rmSync(join(placeOf(session.id), 'home'), { recursive: true })
      expect(await alice.sh('a', 'cat kept; touch ~/new && echo made')).toMatchObject({
        ...{ stdout: 'kept\nmade\n', session: { workspace: 'intact' } },
      })
    })

    test('a reset empties the home and keeps the workspace; while something runs it is refused, or ends that first', async () => {
      const { session } = await alice.sh('a', KEEP)
      const running = await alice.start('a', 'sleep 1000')
      await expect(reset(session.id)).rejects.toMatchObject({ code: 'session_busy' })
      expect((await alice.sh('a', 'tool')).stdout).toBe('kept\n')
      expect(await reset(session.id, 'kill')).toMatchObject({ state: 'suspended' })
      expect(await alice.ended(session.id, running.executionId)).toMatchObject({ status: 'cancelled' })
      await eventually(() => homesOf(placeOf(session.id))).toEqual([])
      expect((await alice.sh('a', 'ls -A ~; cat kept')).stdout).toBe('.tmp\nkept\n')
      expect(homesOf(placeOf(session.id))).toEqual(['home-1'])
    })

    test('what a crash in the middle of a reset left is removed when the next sandbox is made', async () => {
      const { session } = await alice.sh('a', KEEP)
      await suspend(session.id)
      await reset(session.id)
      await eventually(() => homesOf(placeOf(session.id))).toEqual([])
      mkdirSync(join(placeOf(session.id), 'home', 'left'), { recursive: true })
      expect((await alice.sh('a', 'ls -A ~; cat kept')).stdout).toBe('.tmp\nkept\n')
      expect(homesOf(placeOf(session.id))).toEqual(['home-1'])
    })

    test('it is removed with its session, and belongs to the same user as the workspace', async () => {
      const { session } = await alice.sh('a', KEEP)
      const place = placeOf(session.id)
      expect(statSync(join(place, 'home')).uid).toBe(statSync(join(place, 'files')).uid)
      expect(statSync(join(place, 'home')).mode & 0o777).toBe(0o700)
      await server.sessions.steering.cancel(alice.caller, session.id)
      await eventually(() => existsSync(place)).toBe(false)
    })

    test('directories of the host can be shown in it, and in its place', async () => {
      const source = join(shown, 'given')
      mkdirSync(source)
      writeFileSync(join(source, 'note'), 'of the host\n')
      const at = (target: string): Ask => ({ wish: { mounts: [{ source, target, mode: 'ro' }] } })
      const inside = await alice.sh('inside', 'cat ~/given/note; echo kept > ~/kept', { ask: at('/home/user/given') })
      await suspend(inside.session.id)
      expect((await alice.sh('inside', 'cat ~/given/note ~/kept')).stdout).toBe('of the host\nkept\n')
      expect((await alice.sh('instead', 'cat ~/note; touch ~/x || echo refused', { ask: at('/home/user') })).stdout).toBe(
        'of the host\nrefused\n',
      )
    })

    test('it counts with the workspace', async () => {
      const ask: Ask = { wish: { limits: { workspace_bytes: 8 * 2 ** 20 } } }
      const filled = await alice.sh('a', 'head -c 5M /dev/urandom > five; head -c 30M /dev/urandom > ~/thirty; sleep 100', { ask })
      expect(filled.status).toBe('workspace_full')
    })

    test('a packed session keeps its own, which no neighbour can enter, and can reset it', async ({ skip }) => {
      if (!server.capabilities.packing) skip(server.capabilities.reasons.packing ?? 'it cannot pack')
      const root = principal('root', { role: 'platform_admin' })
      const policy = { packing: { profiles: ['small'] } }
      const { id: tenantId } = await server.plane.tenants.create(root, CreateTenantBody.parse({ name: 'acme', policy }))
      const bob = await personOf(server, principal('bob', { tenantId }))
      const { session } = await bob.sh('a', KEEP, { ask: PACKED })
      const home = (await bob.sh('a', 'tool; echo $HOME; stat -c %a ~')).stdout.split('\n')
      expect(home).toMatchObject(['kept', expect.stringContaining(session.id), '700', ''])
      await server.sessions.steering.suspend(bob.caller, session.id)
      expect((await bob.sh('a', 'tool')).stdout).toBe('kept\n')
      await bob.sh('neighbour', 'true', { ask: PACKED })
      await server.sessions.steering.resetHome(bob.caller, session.id, 'fail')
      const after = await bob.sh('a', 'ls ~; cat kept; stat -c %a ~; cd ~ && pwd')
      expect(after.stdout).toMatch(/^kept\n700\n\/sessions\/ses_\w+\/home-1\n$/)
      expect((await bob.sh('neighbour', `ls ${home[1]} ${home[1]}-1`)).stdout).toBe('')
      await expect(bob.get('b', { ...PACKED, ...EPHEMERAL })).rejects.toMatchObject({ code: 'capability_unsupported' })
    })
  })
}
