/** Every session of a root server is a user of its own on the host, and inside it is who it always was. */
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'
import { DEFAULT_UID_RANGE, hostUsersOf } from '../sandboxes/host-users.ts'
import { isServerRoot } from '../sandboxes/sandbox-user.ts'

const SHARED = 1000
const WITHOUT = { HOLDFAST_SANDBOX_UIDS: 'none' }

// Podman is the engine backend with another address; the contract has its host users.
for (const under of (await backendsUnderTest()).filter(({ kind }) => kind !== 'podman')) {
  const reason = under.skipReason ?? (isServerRoot() ? null : 'only root has users to give')
  describe.skipIf(reason !== null)(`host users on ${under.kind}${because({ ...under, skipReason: reason })}`, () => {
    const isJail = under.kind === 'bubblewrap' || under.kind === 'nsjail'
    let ground: Ground
    let server: TestServer
    let alice: Person
    let shown: string

    const start = async (settings: Readonly<Record<string, string>> = {}) => {
      server = await ground.start('one', { HOLDFAST_MOUNTS_ALLOWED_ROOTS: shown, ...settings })
      alice = await personOf(server)
    }
    beforeEach(async () => {
      shown = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-shown-')))
      chmodSync(shown, 0o755)
      ground = openGround(under)
      await start()
    })
    afterEach(async () => {
      await ground.close()
      rmSync(shown, { recursive: true, force: true })
    })
    const restart = async (settings: Readonly<Record<string, string>> = {}) => {
      await server.close()
      await start(settings)
    }
    const suspend = (id: string) => server.sessions.steering.suspend(alice.caller, id)
    const filesOf = (id: string) => join(server.home.workspacesDir, id, 'files')
    const ownUser = (id: string) => hostUsersOf(DEFAULT_UID_RANGE, id).commands
    const ownerOf = (...path: readonly string[]) => lstatSync(join(...path)).uid
    const userInside = (id: string) => String(isJail ? SHARED : ownUser(id))

    test('two sessions are two users, and their files belong to them', async () => {
      const script = 'id -u; touch note; mkdir deep; stat -c %u note deep .; touch ~/note /tmp/note && rm note'
      for (const key of ['a', 'b']) {
        const { session, stdout, stderr } = await alice.sh(key, script)
        const me = userInside(session.id)
        expect({ stdout, stderr }).toEqual({ stdout: `${me}\n`.repeat(4), stderr: '' })
        expect(ownerOf(filesOf(session.id), 'deep')).toBe(ownUser(session.id))
      }
    })

    test('a workspace from before is its own once its next sandbox is made, and a live sandbox stays what it was', async () => {
      await restart(WITHOUT)
      const made = await alice.sh('a', 'id -u; mkdir -m 700 deep; echo kept > deep/note; ln -s /etc/passwd link; chmod 600 deep/note')
      const { id } = made.session
      expect(made.stdout).toBe(`${SHARED}\n`)
      await restart()
      expect((await alice.sh('a', 'id -u; cat deep/note; echo more >> deep/note')).stdout).toBe(`${SHARED}\nkept\n`)
      expect(ownerOf(filesOf(id), 'deep', 'note')).toBe(SHARED)
      await suspend(id)
      const after = await alice.sh('a', 'id -u; cat deep/note; echo more >> deep/note; rm link; mkdir deep/er')
      expect(after).toMatchObject({ stdout: `${userInside(id)}\nkept\nmore\n`, stderr: '', session: { workspace: 'intact' } })
      for (const path of ['', 'deep', 'deep/note', 'deep/er']) expect(ownerOf(filesOf(id), path), path).toBe(ownUser(id))
      expect(statSync('/etc/passwd').uid).toBe(0)
      await suspend(id)
      await restart(WITHOUT)
      expect((await alice.sh('a', 'id -u; cat deep/note && touch deep/er/x')).stdout).toBe(`${SHARED}\nkept\nmore\nmore\n`)
    })

    test('a crash while a workspace is given away is made good', async () => {
      const { session } = await alice.sh('a', 'mkdir deep; echo kept > deep/note')
      await suspend(session.id)
      const files = filesOf(session.id)
      execFileSync('chown', ['-R', `${SHARED}:${SHARED}`, join(files, 'deep')])
      mkdirSync(join(files, '..', 'half-given'))
      expect(await alice.sh('a', 'cat deep/note; rm -r deep')).toMatchObject({ stdout: 'kept\n', stderr: '', exitCode: 0 })
    })

    test('a directory of the host can be written, and its files belong to the user that all sandboxes have in common', async () => {
      const source = join(shown, 'data')
      mkdirSync(source)
      writeFileSync(join(source, 'given'), 'from the host\n', { mode: 0o600 })
      for (const path of [source, join(source, 'given')]) chownSync(path, SHARED, SHARED)
      const ask = { wish: { mounts: [{ source, target: '/data', mode: 'rw' as const }] } }
      const script = 'cat /data/given; echo made > /data/made; stat -c %u /data /data/given /data/made; touch own'
      const { session, stdout, stderr } = await alice.sh('a', script, { ask })
      expect({ stdout, stderr }).toEqual({ stdout: `from the host\n${`${SHARED}\n`.repeat(3)}`, stderr: '' })
      expect(ownerOf(source, 'made')).toBe(SHARED)
      expect(ownerOf(filesOf(session.id), 'own')).toBe(isJail ? ownUser(session.id) : SHARED)
    })

    test.runIf(isJail)(
      'on a file system that cannot show files as another user’s, the session is the user that all sandboxes have in common',
      async () => {
        const place = (name: string) => join(shown, name)
        const [source, lower, upper, work] = [place('overlaid'), place('lower'), place('upper'), place('work')]
        for (const path of [source, lower, upper, work]) mkdirSync(path)
        chownSync(upper, SHARED, SHARED)
        execFileSync('mount', ['-t', 'overlay', '-o', `lowerdir=${lower},upperdir=${upper},workdir=${work}`, 'holdfast-test', source])
        try {
          const ask = { wish: { mounts: [{ source, target: '/data', mode: 'rw' as const }] } }
          const { session, stdout, stderr } = await alice.sh('a', 'id -u; touch /data/made own', { ask })
          expect({ stdout, stderr }).toEqual({ stdout: `${SHARED}\n`, stderr: '' })
          expect([ownerOf(source, 'made'), ownerOf(filesOf(session.id), 'own')]).toEqual([SHARED, SHARED])
          await server.sessions.steering.release(alice.caller, session.id)
          await eventually(() => server.sandboxes()).toEqual([])
        } finally {
          execFileSync('umount', [source])
        }
      },
    )

    test('removing a session removes its files', async () => {
      const { session } = await alice.sh('a', 'mkdir -m 0 closed; echo kept > note')
      await server.sessions.steering.release(alice.caller, session.id)
      await server.sessions.sweep()
      await eventually(() => existsSync(filesOf(session.id))).toBe(false)
    })
  })
}
