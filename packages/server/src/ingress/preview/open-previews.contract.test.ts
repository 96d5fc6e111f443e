/** Connections to apps that stay open: asked again whether they may, ended with the server, and never faster than their reader. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { listen } from '../http-listener.ts'
import type { HttpListener } from '../http-listener.ts'
import { openLaboratory } from '../rest/contract/laboratory.ts'
import type { Laboratory } from '../rest/contract/laboratory.ts'
import { open } from './contract/inner-app.ts'
import { previewAddresses } from './preview-address.ts'
import { previewDoor } from './preview-door.ts'
import type { PreviewDoor } from './preview-door.ts'

/** The guests of this suite stand in no sandbox, so their ports are those of this machine. */
describe('open connections to apps', () => {
  let laboratory: Laboratory
  let listener: HttpListener
  let door: PreviewDoor
  let id = ''
  let ada = ''
  const apps: Server[] = []
  beforeAll(async () => {
    laboratory = await openLaboratory()
    ada = await laboratory.keyOf({ subject: 'ada' })
    const made = await laboratory.post('/v1/sessions', { key: 'app', wait_ms: 20_000 }, { key: ada })
    id = made.field('id')
  })
  afterEach(async () => {
    await listener.close()
    for (const app of apps.splice(0)) {
      app.closeAllConnections()
      app.close()
    }
  })
  afterAll(() => laboratory.close())

  async function opened(answer: RequestListener = () => undefined) {
    const app = createServer(answer)
    const sockets = new WebSocketServer({ server: app })
    sockets.on('connection', (socket) => socket.send('hello'))
    apps.push(app)
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
    const { port } = app.address() as AddressInfo
    const addresses = previewAddresses({ publicUrl: null, domain: null, port: () => listener.port })
    const { entrance, plane } = laboratory
    door = previewDoor({ ...entrance, addresses, links: plane.previewLinks, sessions: plane.sessions, recheckEveryMs: 20 })
    listener = await listen(() => new Response('another door'), door.upgrade, '127.0.0.1', 0, door.direct)
    const real = { server: { url: `http://127.0.0.1:${listener.port}` } }
    return { port, path: `/preview/${id}/${port}/`, real }
  }

  async function socketTo(path: string, headers: Record<string, string>): Promise<WebSocket> {
    const socket = new WebSocket(`ws://127.0.0.1:${listener.port}${path}`, { headers })
    await once(socket, 'message')
    return socket
  }

  const newKey = () =>
    laboratory.plane.keys.create(laboratory.admin, { name: 'k', kind: 'user', subject: 'ada', role: 'member', groups: [] })

  test('one ends soon after its key was revoked, a socket and an answer alike', async () => {
    const { path, real } = await opened((_request, answer) => void answer.write('begun'))
    const { key, record } = await newKey()
    const headers = { authorization: `Bearer ${key}` }
    const socket = await socketTo(path, headers)
    const response = await open(real, path, { headers })
    const ended = Promise.all([once(socket, 'close'), text(response).catch(() => 'cut')])
    await laboratory.plane.keys.revoke(laboratory.admin, record.id)
    expect((await ended)[1]).toBe('cut')
  })

  test('one through a link ends when the link does', async () => {
    const { port } = await opened()
    const { plane } = laboratory
    const { record } = await newKey()
    const session = await plane.sessions.reads.open(await plane.callerOf(laboratory.admin), 'read', id)
    const asker = { ...laboratory.admin, subject: 'ada', role: 'member' as const, keyId: record.id }
    const { label } = await plane.previewLinks.make(asker, { session, port, ttlMs: 1_000, requestId: 'req_1' })
    const socket = await socketTo('/', { host: `${label}.localhost` })
    await once(socket, 'close')
    const late = new WebSocket(`ws://127.0.0.1:${listener.port}/`, { headers: { host: `${label}.localhost` } })
    const [, refused] = (await once(late, 'unexpected-response')) as [unknown, IncomingMessage]
    expect(refused.statusCode).toBe(404)
  })

  test('sockets end when the door closes, and nobody comes in any more', async () => {
    const { path, real } = await opened()
    const headers = { authorization: `Bearer ${ada}` }
    const socket = await socketTo(path, headers)
    const closed = once(socket, 'close')
    door.close()
    await closed
    expect((await open(real, path, { headers })).statusCode).toBe(503)
  })

  test('whenever clients leave, nothing of theirs is left open', async () => {
    const { path, port } = await opened((request, answer) => {
      answer.on('error', () => undefined)
      request.on('error', () => undefined).resume()
      if (request.url === '/flood') answer.write(Buffer.alloc(3_000_000))
      if (request.url === '/end') answer.end('done')
    })
    const lines = `host: localhost\r\nauthorization: Bearer ${ada}\r\n`
    const socket = `${lines}connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${'A'.repeat(22)}==\r\n`
    const asked = [
      `GET ${path}flood HTTP/1.1\r\n${lines}\r\n`,
      `GET ${path}wait HTTP/1.1\r\n${lines}\r\n`,
      `POST ${path}wait HTTP/1.1\r\n${lines}content-length: 1000\r\n\r\nhalf`,
      `POST ${path}end HTTP/1.1\r\n${lines}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`,
      `GET ${path} HTTP/1.1\r\n${socket}\r\n`,
      `GET ${path}wait HTTP/1.1\r\n${lines}\r\nGET ${path}flood HTTP/1.1\r\n${lines}\r\n`,
    ]
    const leaving = Array.from({ length: 120 }, async (_, index) => {
      const client = connect(listener.port, '127.0.0.1').on('error', () => undefined)
      client.write(asked[index % asked.length] ?? '')
      await delay((index % 11) * 40)
      if (index % 4 === 0) client.resetAndDestroy()
      else if (index % 4 === 1) client.end().resume()
      else client.destroy()
    })
    await Promise.all(leaving)
    const inside = () => new Promise<number>((resolve) => apps[0]?.getConnections((_error, count) => resolve(count)))
    await eventually(inside).toBe(0)
    const answered = await fetch(`http://127.0.0.1:${listener.port}${path}end`, { headers: { authorization: `Bearer ${ada}` } })
    expect([await answered.text(), port > 0]).toEqual(['done', true])
  })

  test('an app that sends without end waits for a reader that does not read', async () => {
    const stalled = Promise.withResolvers<number>()
    const { path, real } = await opened((_request, answer) => {
      let sent = 0
      let last = -1
      const piece = Buffer.alloc(65_536)
      const send = (): void => {
        while (answer.write(piece)) sent += piece.length
        sent += piece.length
        answer.once('drain', send)
      }
      send()
      const looking = setInterval(() => {
        if (sent !== last) return void (last = sent)
        clearInterval(looking)
        stalled.resolve(sent)
      }, 200)
    })
    const response = await open(real, path, { headers: { authorization: `Bearer ${ada}` } })
    expect(response.statusCode).toBe(200)
    expect(await stalled.promise).toBeLessThan(40_000_000)
    response.destroy()
  })
})
