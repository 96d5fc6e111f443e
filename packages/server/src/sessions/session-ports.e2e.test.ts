/** Ports of real sandboxes over time: an open connection keeps its session awake, and ends with it. */
import { once } from 'node:events'
import { CreateTenantBody } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'

const IDLE_MS = 600_000
const SETTINGS = { HOLDFAST_SESSIONS_IDLE_SECONDS: String(IDLE_MS / 1000) }
/** Left running by a command that has ended, so that nothing but a connection is work. */
const START = 'python3 -u -m http.server 3000 > log 2>&1 & until grep -q Serving log; do sleep 0.02; done'

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`ports on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person
    const { signal } = new AbortController()
    beforeEach(async () => {
      ground = openGround(under, null)
      ground.clock.stop()
      server = await ground.start('one', SETTINGS)
      alice = await personOf(server)
    })
    afterEach(() => ground.close())
    const stateOf = async (id: string) => (await server.sessions.reads.open(alice.caller, 'read', id)).state
    const pass = async (ms: number) => {
      ground.clock.pass(ms)
      await server.sessions.sweep()
    }

    test('a session stays awake as long as a connection is open, and has its whole idle time afterwards', async () => {
      const { session } = await alice.sh('app', START)
      const connection = await server.sessions.ports.connect(alice.caller, session.id, 3000, signal)
      for (let step = 0; step < 5; step += 1) {
        await pass(IDLE_MS * 2)
        expect(['idle', 'active']).toContain(await stateOf(session.id))
      }
      connection.end('GET /log HTTP/1.0\r\n\r\n')
      let told = ''
      for await (const piece of connection) told += String(piece)
      expect(told).toContain('Serving')
      if (!connection.closed) await once(connection, 'close')
      await pass(IDLE_MS - 10_000)
      expect(await stateOf(session.id)).toBe('idle')
      await pass(20_000)
      expect(await stateOf(session.id)).toBe('suspended')
    })

    test('who asks in vain keeps nobody awake', async () => {
      const { session } = await alice.sh('none', 'true')
      for (let step = 0; step < 3; step += 1) {
        await pass(IDLE_MS / 3 + 1000)
        await expect(server.sessions.ports.connect(alice.caller, session.id, 3000, signal)).rejects.toThrow()
      }
      expect(await stateOf(session.id)).toBe('suspended')
    })

    test('a connection ends when its session gives its sandbox up', async () => {
      const { session } = await alice.sh('app', START)
      const connection = await server.sessions.ports.connect(alice.caller, session.id, 3000, signal)
      const closed = new Promise((resolve) => connection.once('close', resolve))
      await server.sessions.steering.suspend(alice.caller, session.id)
      await closed
      expect(connection.errored).toMatchObject({ name: 'HoldfastError' })
    })

    test('in a sandbox that sessions share, a connection ends with its own session and not with its neighbour', async ({ skip }) => {
      if (!server.capabilities.packing) skip(server.capabilities.reasons.packing ?? 'it cannot pack')
      const policy = { packing: { profiles: ['small'] } }
      const root = principal('root', { role: 'platform_admin' })
      const tenant = await server.plane.tenants.create(root, CreateTenantBody.parse({ name: 'acme', policy }))
      const carol = await personOf(server, principal('carol', { tenantId: tenant.id }))
      const ask = { pack: 'small' }
      const { session: mine } = await carol.sh('mine', START, { ask })
      const { session: other } = await carol.sh('other', START.replace('3000', '3001'), { ask })
      expect(await server.sandboxes()).toHaveLength(1)
      const connection = await server.sessions.ports.connect(carol.caller, mine.id, 3000, signal)
      const neighbour = await server.sessions.ports.connect(carol.caller, other.id, 3001, signal)
      const closed = new Promise((resolve) => connection.once('close', resolve))
      await server.sessions.steering.release(carol.caller, mine.id, { ifBusy: 'kill' })
      await closed
      expect(neighbour.destroyed).toBe(false)
      neighbour.destroy()
    })

    test('whoever may not run commands in a session may not connect to it', async () => {
      const { session } = await alice.sh('app', START)
      const ben = await personOf(server, principal('ben'))
      await expect(server.sessions.ports.connect(ben.caller, session.id, 3000, signal)).rejects.toMatchObject({ code: 'not_found' })
      const viewer = await personOf(server, principal('vera', { role: 'viewer' }))
      await expect(server.sessions.ports.connect(viewer.caller, session.id, 3000, signal)).rejects.toMatchObject({ code: 'forbidden' })
    })
  })
}
