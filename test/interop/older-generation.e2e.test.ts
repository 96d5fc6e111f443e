/** Clients of the older generation, which know no contexts and no headers: the wire is the same, and ids are what they are. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { eventually } from '../servers/eventually.ts'
import { makePlace, startBoxServer } from './box-server.ts'
import type { BoxPlace, BoxServer } from './box-server.ts'
import { clientOf, startDriver } from './langbot-driver.ts'
import type { LangBotClient, LangBotDriver } from './langbot-driver.ts'
import { clientBecause, OLDER_RELEASE, publishedClient } from './published-client.ts'

/** It is served only where the operator named neither an instance nor a token. */
const ANYBODY = { LANGBOT_BOX_TRUSTED_INSTANCE_UUID: undefined }
const published = await publishedClient(OLDER_RELEASE)
const backends = published.skipReason === null ? await backendsUnderTest() : []

describe.skipIf(published.skipReason !== null)(`${OLDER_RELEASE}, without contexts${clientBecause(published)}`, () => {
  test('can be had', () => expect(published.skipReason).toBeNull())

  for (const under of backends.filter(({ kind }) => kind === 'bubblewrap')) {
    describe.skipIf(under.skipReason !== null)(`on ${under.kind}${because(under)}`, () => {
      let place: BoxPlace
      let server: BoxServer
      let driver: LangBotDriver
      let client: LangBotClient
      beforeAll(async () => {
        if (published.skipReason !== null) return
        place = makePlace(under, ANYBODY)
        driver = startDriver(published.python)
        server = await startBoxServer(place)
        await driver.connect('one', server.url)
        client = clientOf(driver, 'one', () => server.url, null)
      })
      afterAll(async () => {
        await driver.close()
        await server.close()
        await place.remove()
      })

      test('commands and sessions have the ids they were given', async () => {
        await client.call('init', { config: { backend: 'local' } })
        await client.call('initialize')
        expect(await client.exec('chat', 'echo hello')).toMatchObject({ session_id: 'chat', exit_code: 0, stdout: 'hello' })
        expect(await client.call('get_sessions')).toMatchObject([{ session_id: 'chat' }])
        expect(await client.call('get_session', { session_id: 'chat' })).toMatchObject({ backend_name: 'bubblewrap' })
        expect(await client.failure('get_session', { session_id: 'nobody' })).toBe('BoxSessionNotFoundError')
        expect(await client.call('get_status')).toMatchObject({ active_sessions: 1 })
      })

      test('processes speak over a relay without headers', async () => {
        await client.launch('chat', 'p', 'cat')
        expect(await client.attach('r', 'chat', 'p')).toBe('mcp')
        await driver.order('send', { relay: 'r', text: '{"a":1}' })
        expect(await driver.order('receive', { relay: 'r' })).toBe('{"a":1}\n')
        await client.call('stop_managed_process', { session_id: 'chat', process_id: 'p' })
        expect(await driver.order('until_closed', { relay: 'r' })).toBe(1000)
      })

      test('skills are there', async () => {
        await client.call('create_skill', { skill: { name: 'demo', instructions: 'Do it.' } })
        await client.call('write_skill_file', { name: 'demo', path: 'a.txt', content: 'a' })
        expect(await client.call('list_skills')).toMatchObject([{ name: 'demo', instructions: 'Do it.' }])
        await client.call('delete_skill', { name: 'demo' })
      })

      test('it comes back to the same session after kill -9 of the server', async () => {
        await client.exec('chat', 'echo kept > /tmp/note')
        await server.die()
        await driver.order('lost', { client: 'one' })
        await server.restart()
        await driver.connect('one', server.url)
        await eventually(() => client.exec('chat', 'cat /tmp/note')).toMatchObject({ stdout: 'kept' })
        await client.call('delete_session', { session_id: 'chat' })
      })
    })
  }
})
