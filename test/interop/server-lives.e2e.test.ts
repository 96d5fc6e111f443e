/** LangBot's published client while connections and servers come and go: what runs inside belongs to neither. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { eventually } from '../servers/eventually.ts'
import { makePlace, startBoxServer } from './box-server.ts'
import type { BoxPlace, BoxServer } from './box-server.ts'
import { clientOf, physicalId, startDriver } from './langbot-driver.ts'
import type { LangBotClient, LangBotDriver } from './langbot-driver.ts'
import { clientBecause, CURRENT_RELEASE, publishedClient } from './published-client.ts'

const KINDS = ['bubblewrap', 'docker']
const published = await publishedClient(CURRENT_RELEASE)
const backends = published.skipReason === null ? await backendsUnderTest() : []

describe.skipIf(published.skipReason !== null)(`${CURRENT_RELEASE}${clientBecause(published)}`, () => {
  test('can be had', () => expect(published.skipReason).toBeNull())

  for (const under of backends.filter(({ kind }) => KINDS.includes(kind))) {
    describe.skipIf(under.skipReason !== null)(`on ${under.kind}${because(under)}`, () => {
      let place: BoxPlace
      let server: BoxServer
      let driver: LangBotDriver
      let client: LangBotClient
      beforeAll(async () => {
        if (published.skipReason !== null) return
        place = makePlace(under)
        driver = startDriver(published.python)
        server = await startBoxServer(place)
        await driver.connect('one', server.url)
        client = clientOf(driver, 'one', () => server.url)
      })
      afterAll(async () => {
        await driver.close()
        await server.close()
        await place.remove()
      })

      test('sessions are ordinary ones: owned, labelled, listed and audited', async () => {
        await client.exec('seen', 'true')
        const { items } = (await server.rest(`/v1/sessions?key=${physicalId('seen')}`)) as { items: Record<string, unknown>[] }
        expect(items).toMatchObject([{ key: physicalId('seen'), owner: expect.stringMatching(/^langbot:ws-/), state: 'active' }])
        const { items: entries } = (await server.rest(`/v1/audit?session=${String(items[0]?.['id'])}`)) as { items: unknown[] }
        expect(entries.length).toBeGreaterThan(0)
      })

      test('two clients at once share sessions, and neither waits for the other', async () => {
        await driver.connect('two', server.url)
        const second = clientOf(driver, 'two', () => server.url)
        const waiting = client.exec('shared', 'until test -e go; do sleep 0.05; done; echo went')
        await eventually(() => second.exec('shared', 'touch go; echo told')).toMatchObject({ stdout: 'told' })
        expect(await waiting).toMatchObject({ stdout: 'went' })
        await driver.order('leave', { client: 'two' })
      })

      test('a call whose client is gone ends inside, with all that it started', async () => {
        await driver.connect('rude', server.url)
        const rude = clientOf(driver, 'rude', () => server.url)
        const call = rude.exec('dropped', 'sleep 600 & echo $! > child; echo $$ > parent; wait').catch((error: unknown) => error)
        await eventually(() => client.exec('dropped', 'cat child parent')).toMatchObject({ exit_code: 0 })
        await driver.order('drop', { client: 'rude' })
        expect(await call).toBeInstanceOf(Error)
        const alive = 'for pid in $(cat child parent); do kill -0 $pid 2>/dev/null && echo $pid; done; true'
        await eventually(() => client.exec('dropped', alive)).toMatchObject({ stdout: '' })
      })

      test('kill -9 of the server: its client comes back, and session and process are the same', async () => {
        await client.exec('lasting', 'echo kept > note; echo kept > /tmp/note')
        const started = await client.launch('lasting', 'p', 'echo $$; while read -r line; do echo "heard $line"; done')
        await client.attach('before', 'lasting', 'p')
        const pid = String(await driver.order('receive', { relay: 'before' })).trim()
        await driver.order('send', { relay: 'before', text: 'one' })
        expect(await driver.order('receive', { relay: 'before' })).toBe('heard one\n')
        await server.die()
        await driver.order('lost', { client: 'one' })
        expect(await client.failure('get_status')).toMatch(/^(BoxError|BoxRuntimeUnavailableError)$/)
        await server.restart()
        await driver.connect('one', server.url)
        expect(await client.look('lasting', 'p')).toMatchObject({ status: 'running', started_at: started.started_at })
        expect(await client.attach('after', 'lasting', 'p')).toBe('mcp')
        await driver.order('send', { relay: 'after', text: 'two' })
        // What was sent to a server that was killed may have been lost on its way, and comes again.
        let line: unknown
        do line = await driver.order('receive', { relay: 'after' })
        while (line !== 'heard two\n')
        expect(await client.exec('lasting', `kill -0 ${pid} && cat note /tmp/note`)).toMatchObject({ exit_code: 0, stdout: 'kept\nkept' })
        await driver.order('detach', { relay: 'after' })
      })
    })
  }
})
