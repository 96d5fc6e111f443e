/**
 * What LangBot 4.10.8's own integration tests claim of a Box, asked with its client: one test for each of the thirteen, but for the two that
 * have suites of their own here (`box-service.e2e.test.ts`, and `backend-wait.e2e.test.ts` for a backend that is missing).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { eventually } from '../servers/eventually.ts'
import { makePlace, startBoxServer } from './box-server.ts'
import type { BoxPlace, BoxServer } from './box-server.ts'
import { clientOf, CONTEXT, startDriver } from './langbot-driver.ts'
import type { LangBotClient, LangBotDriver } from './langbot-driver.ts'
import { clientBecause, CURRENT_RELEASE, publishedClient } from './published-client.ts'

const KINDS = ['bubblewrap', 'docker']
const published = await publishedClient(CURRENT_RELEASE)
const backends = published.skipReason === null ? await backendsUnderTest() : []

describe.skipIf(published.skipReason !== null)(`the claims of LangBot’s integration tests${clientBecause(published)}`, () => {
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
      const inTmp = { workdir: '/tmp' }
      const ids = async () => (await client.call<{ session_id: string }[]>('get_sessions')).map(({ session_id: id }) => id)
      const create = (id: string) => client.call('create_session', { spec: { session_id: id, ...inTmp } })
      const launch = (id: string, command: string, ...args: string[]) =>
        client.call('start_managed_process', { session_id: id, spec: { command, args, cwd: '/tmp' } })

      test('a command’s output comes back', async () => {
        expect(await client.exec('simple', 'echo hello-box', inTmp)).toMatchObject({
          status: 'completed',
          exit_code: 0,
          stdout: 'hello-box',
        })
      })

      test('a file of one command is there for the next', async () => {
        expect(await client.exec('files', 'echo written > /tmp/file', inTmp)).toMatchObject({ exit_code: 0 })
        expect(await client.exec('files', 'cat /tmp/file', inTmp)).toMatchObject({ exit_code: 0, stdout: 'written' })
      })

      test('a command that takes too long is killed; its session stays, which is different on purpose', async () => {
        expect(await client.exec('slow', 'sleep 120', { ...inTmp, timeout_sec: 1 })).toMatchObject({ status: 'timed_out', exit_code: null })
        expect(await ids()).toContain('slow')
      })

      test('without the network nothing is reached', async () => {
        const dial = `python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), 3)'`
        expect((await client.exec('offline', dial, { ...inTmp, network: 'off' })).exit_code).not.toBe(0)
      })

      test('a managed process runs, and is asked about by its usual name', async () => {
        await create('lifecycle')
        expect(await launch('lifecycle', 'sh', '-c', 'while true; do sleep 1; done')).toMatchObject({ status: 'running' })
        expect(await client.look('lifecycle', 'default')).toMatchObject({ status: 'running', command: 'sh' })
        await client.call('delete_session', { session_id: 'lifecycle' })
      })

      test('what is said to it over the relay comes back', async () => {
        await create('relayed')
        await launch('relayed', 'cat')
        await client.attach('r', 'relayed', 'default')
        await driver.order('send', { relay: 'r', text: 'hello' })
        expect(await driver.order('receive', { relay: 'r' })).toBe('hello\n')
        await client.call('delete_session', { session_id: 'relayed' })
      })

      test('a deleted session is gone, whatever runs in it', async () => {
        await create('deleted')
        await launch('deleted', 'sleep', '3600')
        await client.call('delete_session', { session_id: 'deleted' })
        expect(await client.failure('get_session', { session_id: 'deleted' })).toBe('BoxSessionNotFoundError')
      })

      test('a session tells of its process once there is one', async () => {
        await create('detailed')
        expect(await client.call('get_session', { session_id: 'detailed' })).not.toHaveProperty('managed_process')
        await launch('detailed', 'sleep', '3600')
        expect(await client.call('get_session', { session_id: 'detailed' })).toMatchObject({
          ...{ session_id: 'detailed', managed_process: { status: 'running' } },
        })
        await client.call('delete_session', { session_id: 'detailed' })
      })

      test('a process that ends is seen as ended', async () => {
        await create('ended')
        await launch('ended', 'sh', '-c', 'echo done && exit 0')
        await eventually(() => client.look('ended', 'default')).toMatchObject({ status: 'exited', exit_code: 0 })
      })

      test('asking for the status ends no session', async () => {
        await create('kept')
        const { active_sessions: active } = await client.call<{ active_sessions: number }>('get_status')
        expect(active).toBeGreaterThanOrEqual(1)
        expect(await ids()).toContain('kept')
      })

      test('an older placement generation is refused in LangBot’s words', async () => {
        const first = { ...CONTEXT, workspace_uuid: 'ws-moved' }
        await client.call('get_sessions', {}, { ...first, placement_generation: 2 })
        await expect(client.call('get_sessions', {}, first)).rejects.toThrow('Stale Box placement generation')
      })
    })
  }
})
