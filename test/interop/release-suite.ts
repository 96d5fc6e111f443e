/**
 * One release of LangBot's published client, which walks every action that it knows: over a WebSocket and over pipes.
 */
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BackendKind } from '../../packages/server/src/sandboxes/backend.ts'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { PROGRAM } from '../environment/holdfast-program.ts'
import { makePlace, startBoxServer } from './box-server.ts'
import type { BoxPlace, BoxServer } from './box-server.ts'
import { walkEveryAction } from './every-action.ts'
import type { Stage } from './every-action.ts'
import { clientOf, startDriver } from './langbot-driver.ts'
import type { LangBotDriver } from './langbot-driver.ts'
import { clientBecause, publishedClient } from './published-client.ts'

export interface Release {
  readonly release: string
  readonly kind: BackendKind
  /** Whether the client knows of skills; releases after 0.5 do not. */
  readonly hasSkills: boolean
}

export async function describeRelease({ release, kind: wanted, hasSkills }: Release): Promise<void> {
  const published = await publishedClient(release)
  const backends = published.skipReason === null ? await backendsUnderTest() : []

  describe.skipIf(published.skipReason !== null)(`${release}${clientBecause(published)}`, () => {
    // A suite without a test is none, and could not be skipped by name.
    test('can be had', () => expect(published.skipReason).toBeNull())

    for (const under of backends.filter(({ kind }) => kind === wanted)) {
      describe.skipIf(under.skipReason !== null)(`on ${under.kind}${because(under)}`, () => {
        let place: BoxPlace
        let driver: LangBotDriver
        let stage: Stage
        beforeAll(() => {
          place = makePlace(under)
          if (published.skipReason === null) driver = startDriver(published.python)
        })
        afterAll(async () => {
          await driver.close()
          await place.remove()
        })
        const stageOf = (relayUrl: () => string): Stage => ({
          ...{ driver, root: place.root, backend: under.kind },
          client: clientOf(driver, 'one', relayUrl),
        })
        const leave = async () => {
          await driver.order('shutdown', { client: 'one' })
          await driver.order('leave', { client: 'one' })
        }

        describe('over a WebSocket', () => {
          let server: BoxServer
          beforeAll(async () => {
            server = await startBoxServer(place)
            await driver.connect('one', server.url)
            stage = stageOf(() => server.url)
          })
          afterAll(async () => {
            await leave()
            await server.close()
          })
          walkEveryAction(() => stage, { hasSkills })
        })

        describe('over pipes', () => {
          beforeAll(async () => {
            const port = await freePort()
            await driver.start('one', [process.execPath, PROGRAM, 'box', '-s', '--ws-control-port', String(port)], place.env)
            stage = stageOf(() => `http://127.0.0.1:${port}`)
          })
          afterAll(leave)
          walkEveryAction(() => stage, { hasSkills })
        })
      })
    }
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
