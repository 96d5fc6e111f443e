/** Sessions that share a sandbox: only those that may, each alone in it as far as it can see, and each with an end of its own. */
import { existsSync, readdirSync, rmSync } from 'node:fs'
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
import { processesOf, processesOfUser } from '../sandboxes/contract/traces.ts'
import { closeSandboxToOthers } from '../store/tables/sandboxes.ts'

const BOUND = 4
const PACKED: Ask = { pack: 'small' }
const ROOT = principal('root', { role: 'platform_admin' })
const POLICY = { packing: { profiles: ['small', 'large'] } }
const LOOP = 'while :; do sleep 1; done'

/** The contract of every backend has the isolation of neighbours in full; here it is what sessions make of it. */
const THOROUGH = 'bubblewrap'

for (const under of await backendsUnderTest()) {
  describe.skipIf(under.skipReason !== null)(`packing on ${under.kind}${because(under)}`, () => {
    const isThorough = under.kind === THOROUGH
    let ground: Ground
    let server: TestServer
    let tenantId: string
    let alice: Person

    beforeEach(async () => {
      ground = openGround(under)
      server = await ground.start()
      tenantId = (await server.plane.tenants.create(ROOT, CreateTenantBody.parse({ name: 'acme', policy: POLICY }))).id
      alice = await person('alice')
    })
    afterEach(() => ground.close())

    const person = (subject: string, groups: readonly string[] = [], tenant = tenantId) =>
      personOf(server, principal(subject, { tenantId: tenant, groups }))
    const restart = async () => {
      await server.close()
      server = await ground.start()
      alice = await person('alice')
    }
    const needsPacking = (skip: (reason: string) => void) => {
      if (!server.capabilities.packing) skip(server.capabilities.reasons.packing ?? 'it cannot pack')
    }
    const row = (who: Person, id: string) => server.sessions.reads.open(who.caller, 'read', id)
    const sandboxOf = async (who: Person, key: string, ask: Ask) => {
      const { session } = await who.sh(key, 'true', { ask })
      return (await row(who, session.id)).sandboxId
    }
    const placeOf = ({ packKey, id }: { readonly packKey: string | null; readonly id: string }) =>
      join(server.home.packsDir, packKey ?? '', id)
    const isIn = (state: string, who: Person, id: string) => eventually(async () => (await row(who, id)).state).toBe(state)

    test('a profile that the tenant does not allow is refused, and nothing is made', async () => {
      const outsider = await personOf(server, principal('alice'))
      for (const [who, pack] of [
        [alice, 'huge'],
        [outsider, 'small'],
      ] as const) {
        const code = server.capabilities.packing ? 'forbidden' : 'capability_unsupported'
        await expect(who.get('a', { pack })).rejects.toMatchObject({ code })
        expect(await server.sessions.reads.list(who.caller, {}, null, 10)).toEqual([])
      }
      expect(await server.sandboxes()).toEqual([])
    })

    test('a backend that cannot pack says so', async ({ skip }) => {
      if (server.capabilities.packing) skip('this one can')
      await expect(alice.get('a', PACKED)).rejects.toMatchObject({ code: 'capability_unsupported', details: { capability: 'packing' } })
      expect(await server.sessions.reads.list(alice.caller, {}, null, 10)).toEqual([])
    })

    test(`compatible sessions share a sandbox, ${BOUND} at most, and no others do`, async ({ skip }) => {
      needsPacking(skip)
      const keys = Array.from({ length: BOUND + 1 }, (_, index) => `k${index}`)
      const places = await Promise.all(keys.map((key) => sandboxOf(alice, key, PACKED)))
      const sizes = [...new Set(places)].map((place) => places.filter((other) => other === place).length)
      expect(new Set(sizes)).toEqual(new Set([1, BOUND]))
      expect(sizes).toHaveLength(2)
      expect(new Set(await server.sandboxes())).toEqual(new Set(places))

      // There is room for another, but for none of these.
      const elsewhere = (await server.plane.tenants.create(ROOT, CreateTenantBody.parse({ name: 'other', policy: POLICY }))).id
      const others = await Promise.all([
        sandboxOf(await person('bob'), 'k0', PACKED),
        sandboxOf(alice, 'wish', { pack: 'small', wish: { limits: { pids: 100 } } }),
        sandboxOf(alice, 'profile', { pack: 'large' }),
        sandboxOf(alice, 'alone', {}),
        sandboxOf(await person('alice', ['team']), 'group', { pack: 'small', ownerGroup: 'team' }),
        sandboxOf(await person('alice', [], elsewhere), 'k0', PACKED),
      ])
      expect(new Set([...places, ...others]).size).toBe(2 + others.length)
      // Mates of a group share what belongs to the group.
      expect(await sandboxOf(await person('mia', ['team']), 'mine', { pack: 'small', ownerGroup: 'team' })).toBe(others[4])
      await expect(alice.get('k0', { pack: 'large' })).rejects.toMatchObject({
        code: 'session_incompatible',
        details: { fields: ['pack'] },
      })
    })

    test('neighbours have their own user, home and workspace, and cannot read, find or signal one another', async ({ skip }) => {
      needsPacking(skip)
      const secret = `secret-${crypto.randomUUID()}`
      const facts = await alice.sh('a', 'id -u; echo "$HOME"; pwd', { ask: PACKED })
      const [uid, home, workspace] = facts.stdout.trim().split('\n')
      const script = `echo "$TOKEN" | tee note "$HOME/note" "$TMPDIR/note" > /tmp/"$TOKEN"; exec sh -c ': ${secret}; echo $$; ${LOOP}'`
      const victim = await alice.start('a', script, { env: { TOKEN: secret }, ask: PACKED })
      await eventually(() => alice.printed(victim.session.id, victim.executionId)).toMatch(/^\d+\n$/)
      const pid = (await alice.printed(victim.session.id, victim.executionId)).trim()
      expect(await sandboxOf(alice, 'a', PACKED)).toBe(await sandboxOf(alice, 'b', PACKED))

      const own = await alice.sh('b', 'id -u; echo "$HOME"; pwd; echo mine > note; cat note')
      expect(own.stdout).toMatch(/mine\n$/)
      for (const fact of [uid, home, workspace]) expect(own.stdout.split('\n')).not.toContain(fact)
      const attempts = {
        'read files': `cat ${workspace}/note ${home}/note ${home}/.tmp/note; cat ${workspace}/* /tmp/*`,
        'list places': `ls -R /sessions ${workspace} ${home} /tmp /dev/shm; find / -name note -not -path '/proc/*'`,
        'read arguments and environments': 'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/comm; ps axeww',
        'look at the process': `ls -l /proc/${pid}/cwd /proc/${pid}/fd /proc/${pid}/root; cat /proc/${pid}/maps /proc/${pid}/status`,
      }
      for (const [attempt, tried] of Object.entries(attempts)) {
        const { stdout, stderr } = await alice.sh('b', `(${tried}) 2>&1 | tr '\\0' '\\n'`)
        expect(stdout + stderr, attempt).not.toContain(secret)
      }
      expect((await alice.sh('b', `ls -d /proc/${pid}`)).exitCode).not.toBe(0)
      for (const signal of ['0', 'TERM', 'KILL']) expect((await alice.sh('b', `kill -${signal} ${pid}`)).exitCode, signal).not.toBe(0)
      await alice.sh('b', `kill -KILL -1; echo x > ${workspace}/note; rm -rf ${workspace} ${home} /sessions/*`)
      expect(await server.sessions.commands.get(alice.caller, victim.session.id, victim.executionId)).toMatchObject({ status: 'running' })
      expect((await alice.sh('a', 'cat note "$HOME/note" "$TMPDIR/note"')).stdout).toBe(`${secret}\n`.repeat(3))
      // What was lent to one execution is not lent to the next.
      expect((await alice.sh('a', 'echo "[$TOKEN]"')).stdout).toBe('[]\n')
    })

    test.each(isThorough ? (['release', 'cancel'] as const) : (['release'] as const))(
      '%s of one takes its processes, home and workspace, and leaves the neighbour’s',
      async (how) => {
        if (!server.capabilities.packing) return
        const mark = `mark-${crypto.randomUUID()}`
        const keys = ['a', 'b'] as const
        for (const key of keys) {
          await alice.sh(key, 'echo kept > note; echo kept > "$HOME/note"', { ask: PACKED })
          await alice.sh(key, `setsid nohup sh -c ': ${mark}-${key}; ${LOOP}' > /dev/null 2>&1 & exit 0`)
          await eventually(() => processesOf(`${mark}-${key}`)).not.toEqual([])
        }
        const [first, second] = await Promise.all(keys.map(async (key) => (await alice.get(key, PACKED)).session))
        if (first === undefined || second === undefined) throw new Error('no sessions')
        expect(first.sandboxId).toBe(second.sandboxId)
        expect(processesOfUser(first.packUid ?? 0).length).toBeGreaterThan(0)

        await server.sessions.steering[how](alice.caller, first.id)
        await isIn(how === 'release' ? 'released' : 'cancelled', alice, first.id)
        expect(await row(alice, first.id)).toMatchObject({ cleanup: { verified: true, sandbox: 'kept', workspace: 'deleted' } })
        expect(processesOf(`${mark}-a`)).toEqual([])
        expect(processesOfUser(first.packUid ?? 0)).toEqual([])
        expect(existsSync(placeOf(first))).toBe(false)
        expect(processesOf(`${mark}-b`)).not.toEqual([])
        expect(await alice.sh('b', 'cat note "$HOME/note"')).toMatchObject({
          stdout: 'kept\nkept\n',
          session: { id: second.id, incarnation: 1 },
        })

        // The sandbox goes with its last session.
        await server.sessions.steering[how](alice.caller, second.id)
        await isIn(how === 'release' ? 'released' : 'cancelled', alice, second.id)
        await eventually(() => server.sandboxes()).toEqual([])
        expect(processesOf(mark)).toEqual([])
        expect(existsSync(placeOf(second))).toBe(false)
      },
    )

    test.runIf(isThorough)(
      'a suspended session leaves nothing running beside its neighbours, and comes back as itself',
      async ({ skip }) => {
        needsPacking(skip)
        const mark = `mark-${crypto.randomUUID()}`
        await alice.sh('b', 'true', { ask: PACKED })
        await alice.sh('a', 'echo kept > note; echo kept > "$HOME/note"', { ask: PACKED })
        await alice.sh('a', `setsid nohup sh -c ': ${mark}; ${LOOP}' > /dev/null 2>&1 & exit 0`)
        await eventually(() => processesOf(mark)).not.toEqual([])
        const before = (await alice.get('a', PACKED)).session
        await server.sessions.steering.suspend(alice.caller, before.id)
        await eventually(() => processesOf(mark)).toEqual([])
        expect(await server.sandboxes()).toHaveLength(1)
        const after = await alice.sh('a', 'id -u; cat note "$HOME/note"')
        expect(after).toMatchObject({
          stdout: `${before.packUid}\nkept\nkept\n`,
          session: { id: before.id, incarnation: 2, workspace: 'intact' },
        })
        expect(after.session.notice).toContain('processes and files elsewhere are gone')
        expect(await row(alice, before.id)).toMatchObject({ sandboxId: before.sandboxId, packUid: before.packUid })

        // Also when everybody had left, and the sandbox with them.
        for (const key of ['a', 'b']) await server.sessions.steering.suspend(alice.caller, (await alice.get(key, PACKED)).session.id)
        await eventually(() => server.sandboxes()).toEqual([])
        expect(await alice.sh('a', 'id -u; cat note')).toMatchObject({ stdout: `${before.packUid}\nkept\n`, session: { incarnation: 3 } })
        expect((await row(alice, before.id)).sandboxId).not.toBe(before.sandboxId)
      },
    )

    test.runIf(isThorough)('a restart finds packed sessions where they were', async ({ skip }) => {
      needsPacking(skip)
      const jobs = await Promise.all(['a', 'b'].map((key) => alice.start(key, 'echo kept > note; exec sleep 600', { ask: PACKED })))
      await eventually(async () => (await alice.sh('a', 'cat note')).stdout).toBe('kept\n')
      const before = await server.sandboxes()
      expect(before).toHaveLength(1)
      await restart()
      expect(server.plane.recovered).toEqual({ sessions: 2, reattached: 2, lost: 0 })
      for (const [index, { session, executionId }] of jobs.entries()) {
        expect(await server.sessions.commands.get(alice.caller, session.id, executionId)).toMatchObject({ status: 'running' })
        expect(await alice.sh(index === 0 ? 'a' : 'b', 'cat note')).toMatchObject({ stdout: 'kept\n', session: { incarnation: 1 } })
      }
      expect(await sandboxOf(alice, 'c', PACKED)).toBe(before[0])
      // One sandbox lost is lost for all in it, and each is told.
      await server.backend.destroy(before[0] ?? '')
      for (const key of ['a', 'b']) {
        const { session, stdout } = await alice.sh(key, 'cat note')
        expect([stdout, session.incarnation, session.workspace]).toEqual(['kept\n', 2, 'intact'])
        expect(session.notice).toContain('stopped unexpectedly')
      }
      for (const { session, executionId } of jobs)
        expect(await server.sessions.commands.get(alice.caller, session.id, executionId)).toMatchObject({ status: 'lost' })
      expect(await server.sandboxes()).toHaveLength(1)
    })

    test.runIf(isThorough)('a sandbox that cannot be made fails all who waited for it, at once and without a trace', async ({ skip }) => {
      needsPacking(skip)
      const { guestPath } = ground.plan('one')
      rmSync(guestPath)
      const got = await Promise.all(['a', 'b', 'c'].map((key) => alice.get(key, PACKED)))
      for (const { session } of got) await isIn('failed', alice, session.id)
      await eventually(() => server.store.read((sql) => sql.all('SELECT id FROM sandboxes'))).toEqual([])
      expect(await server.sandboxes()).toEqual([])
      expect(readdirSync(server.home.packsDir).flatMap((key) => readdirSync(join(server.home.packsDir, key)))).toEqual([])
    })

    test.runIf(isThorough)('nobody moves into a sandbox that its last session is leaving', async () => {
      const { session } = await alice.get('a', PACKED)
      const close = () => server.store.write((transaction) => closeSandboxToOthers(transaction, session.sandboxId ?? '', session.id))
      const neighbour = await alice.sh('b', 'true', { ask: PACKED })
      expect(await close()).toBe(false)
      await server.sessions.steering.release(alice.caller, neighbour.session.id)
      await isIn('released', alice, neighbour.session.id)
      expect(await close()).toBe(true)
      expect(await sandboxOf(alice, 'c', PACKED)).not.toBe(session.sandboxId)
    })

    test.runIf(isThorough)('who moves in while the last one moves out is not put on the street', async ({ skip }) => {
      needsPacking(skip)
      let last = (await alice.sh('k0', 'true', { ask: PACKED })).session.id
      for (let turn = 1; turn <= 8; turn += 1) {
        await server.sessions.steering.release(alice.caller, last)
        const { session, executionId, status } = await alice.sh(`k${turn}`, 'sleep 0.1', { ask: PACKED })
        expect([session.incarnation, status]).toEqual([1, 'completed'])
        expect(await server.sessions.commands.get(alice.caller, session.id, executionId)).toMatchObject({
          incarnation: 1,
          status: 'completed',
        })
        last = session.id
      }
    })
  })
}
