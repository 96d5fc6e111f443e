/** The life of a session as others hear of it: in order, complete, signed, and without a word of what was run. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'
import { isGenuine, openReceiver } from './webhooks/contract/receiver.ts'
import type { Receiver } from './webhooks/contract/receiver.ts'

const SETTINGS = { HOLDFAST_WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }
const LIFE = [
  ['session.created', null, 'pending'],
  ['session.idle', 'pending', 'idle'],
  ['session.active', 'idle', 'active'],
  ['execution.started', null, null],
  ['execution.ended', null, null],
  ['session.suspended', 'active', 'suspended'],
  ['session.resuming', 'suspended', 'pending'],
  ['session.resumed', 'pending', 'idle'],
  ['session.active', 'idle', 'active'],
  ['process.started', null, null],
  ['session.closing', 'active', 'closing'],
  ['process.ended', null, null],
  ['session.released', 'closing', 'released'],
]

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`the events of a session on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person
    let receiver: Receiver
    let secret: string

    const start = async () => {
      server = await ground.start('one', SETTINGS)
      alice = await personOf(server)
    }
    beforeEach(async () => {
      ground = openGround(under)
      // However slow the machine, no pause between two deeds makes the session idle.
      ground.clock.stop()
      receiver = await openReceiver()
      await start()
      const wish = { url: `http://127.0.0.1:${receiver.port}/hook`, types: [] }
      secret = (await server.plane.webhooks.create(alice.caller.visibility.tenantId, wish, alice.caller.actor)).secret
    })
    afterEach(async () => {
      await ground.close()
      await receiver.close()
    })

    /** create, exec, suspend, resume, a named process, release */
    const live = async (key: string) => {
      const { session } = await alice.sh(key, 'echo top-secret-command', { env: { TOKEN: 'top-secret-value' } })
      await server.sessions.steering.suspend(alice.caller, session.id)
      await server.sessions.steering.resume(alice.caller, session.id)
      await alice.start(key, 'exec sleep 600', { name: 'server' })
      await server.sessions.steering.release(alice.caller, session.id, { ifBusy: 'kill' })
      await eventually(async () => (await server.sessions.reads.open(alice.caller, 'read', session.id)).state).toBe('released')
      return session.id
    }

    test('its whole life reaches a webhook in order, signed, and the same can be read and followed', async () => {
      const stop = new AbortController()
      const id = await live('a')
      await receiver.has(LIFE.length)
      const events = receiver.received.map(({ event }) => event)
      expect(events.map(({ type, from, to }) => [type, from, to])).toEqual(LIFE)
      expect(events.map(({ seq }) => seq)).toEqual(LIFE.map((_, index) => index + 1))
      expect(new Set(events.map(({ session_id: session }) => session))).toEqual(new Set([id]))
      expect(events.map(({ incarnation }) => incarnation)).toEqual(events.map((_, index) => (index < 5 ? 1 : 2)))
      for (const received of receiver.received) {
        expect(isGenuine(received, secret, Date.now() / 1000)).toBe(true)
        expect(isGenuine({ ...received, body: received.body.replace('session', 'Session') }, secret, Date.now() / 1000)).toBe(false)
        expect(received.body).not.toContain('top-secret')
      }
      expect(events.at(4)?.data).toMatchObject({ status: 'completed', exit_code: 0 })
      expect(events.at(-1)?.data).toMatchObject({ verified: true, sandbox: 'destroyed', workspace: 'deleted', executions_total: 2 })
      const { visibility } = alice.caller
      expect(await server.events.readSession(visibility, id, 0, 100)).toEqual(events)
      expect(await server.events.readTenant(visibility, 'oldest', 100)).toEqual(events)
      for (const after of [1, 6, LIFE.length])
        expect(await server.events.readSession(visibility, id, after, 100)).toEqual(events.slice(after))
      const followed: unknown[] = []
      for await (const event of server.events.followSession(visibility, id, 3, stop.signal)) {
        followed.push(event)
        if (event.type === 'session.released') break
      }
      expect(followed).toEqual(events.slice(3))
    })

    test('lives that go on at the same time are each told in order, and a restart loses and repeats nothing', async () => {
      const ids = await Promise.all(['a', 'b', 'c'].map(live))
      await server.close()
      await start()
      ids.push(await live('d'))
      await receiver.has(ids.length * LIFE.length)
      for (const id of ids) {
        const events = receiver.received.map(({ event }) => event).filter(({ session_id: session }) => session === id)
        const once = events.filter(({ id: event }, index) => events.findIndex((other) => other.id === event) === index)
        expect(once.map(({ type, seq }) => [type, seq])).toEqual(LIFE.map(([type], index) => [type, index + 1]))
      }
    })
  })
}
