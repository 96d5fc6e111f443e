/** What is remembered of a conversation is never more than it is: who lost it has lost it with the next call. */
import type { McpServerConfig } from '@holdfast/protocol/mcp'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { openGround } from '../../../../../test/servers/ground.ts'
import type { Ground } from '../../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../../test/servers/person.ts'
import type { Person } from '../../../../../test/servers/person.ts'
import type { TestServer } from '../../../../../test/servers/test-server.ts'
import { DEFAULT_TENANT_ID } from '../../access/principal.ts'
import { SYSTEM } from '../../sessions/caller.ts'
import type { Target } from '../../sessions/running.ts'
import { smallServer } from './contract/small-server.ts'

const never = new AbortController().signal

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`a conversation with an MCP server on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person
    let bob: Person

    const put = (config: McpServerConfig) => server.plane.mcp.servers.put(DEFAULT_TENANT_ID, { small: config }, { actor: SYSTEM })
    const runFor = async ({ caller }: Person, target: Target) =>
      (await server.plane.mcp.runs.open({ caller, name: 'small', target, pipeline: undefined }, never)).run
    const open = async (person: Person, target: Target) => (await runFor(person, target)).session?.id

    beforeEach(async () => {
      ground = openGround(under)
      server = await ground.start('one')
      alice = await personOf(server, principal('alice'))
      bob = await personOf(server, principal('bob'))
      await put(smallServer({}))
    })
    afterEach(() => ground.close())

    test('that was given to somebody else is there for that one alone, by its id and by its key', async () => {
      const { session } = await alice.get('a')
      const byId = { id: session.id }
      const byKey = alice.request('a')
      expect([await open(alice, byId), await open(alice, byId), await open(alice, byKey)]).toEqual([session.id, session.id, session.id])
      const run = await runFor(alice, byId)
      await server.plane.mcp.runs.recheck(run, alice.caller)
      const admin = await personOf(server, principal('root', { role: 'platform_admin' }))
      const { version } = await server.sessions.reads.open(admin.caller, 'read', session.id)
      await server.sessions.steering.transfer(admin.caller, session.id, { owner: 'bob', ownerGroup: null, expectedVersion: version })
      await expect(server.plane.mcp.runs.recheck(run, alice.caller)).rejects.toMatchObject({ code: 'not_found' })
      await expect(open(alice, byId)).rejects.toMatchObject({ code: 'not_found' })
      expect(await open(alice, byKey)).not.toBe(session.id)
      expect(await open(bob, byId)).toBe(session.id)
    })

    test('that was released is another one for the same key', async () => {
      const first = await open(alice, alice.request('a'))
      await server.sessions.steering.release(alice.caller, first ?? '', { ifBusy: 'kill' })
      const second = await open(alice, alice.request('a'))
      expect(second).not.toBe(first)
    })

    test('is remembered for no right that a caller does not have', async () => {
      const { session } = await alice.get('a')
      await open(alice, alice.request('a'))
      const operator = await personOf(server, principal('alice', { role: 'operator' }))
      await open(operator, { id: session.id })
      // Sees as much, and may do less.
      const viewer = await personOf(server, principal('alice', { role: 'viewer' }))
      await expect(open(viewer, { id: session.id })).rejects.toMatchObject({ code: 'forbidden' })
      await expect(open(viewer, alice.request('a'))).rejects.toMatchObject({ code: 'forbidden' })
      await expect(open(bob, { id: session.id })).rejects.toMatchObject({ code: 'not_found' })
    })
  })
}
