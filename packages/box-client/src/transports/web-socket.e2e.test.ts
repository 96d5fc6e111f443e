/** Over a real WebSocket: the handshake is shown who asks, long messages arrive whole, and every end is noticed. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createBoxConnector } from '../connector/connector.ts'
import type { BoxConnector, BoxConnectorOptions } from '../connector/connector.ts'
import { manualClock } from '../contract/manual-clock.ts'
import { CONTEXT, createScript, RESULT } from '../contract/script.ts'
import { startSocketServer } from '../contract/socket-server.ts'
import type { SocketServer } from '../contract/socket-server.ts'

const TOKEN = 'a-token-of-at-least-32-characters-x'

describe('a Box server behind a WebSocket', () => {
  let server: SocketServer
  let connector: BoxConnector
  const clock = manualClock()
  const make = (options: Partial<BoxConnectorOptions> = {}) =>
    createBoxConnector({ target: { endpoint: `http://127.0.0.1:${server.port}` }, instance: 'inst-1', clock, ...options })
  const lost = () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    connector.watch((event) => event.type === 'disconnected' && resolve(event.reason))
    return promise
  }
  beforeEach(async () => {
    server = await startSocketServer(createScript(), (headers) => headers['x-langbot-instance-id'] === 'inst-1')
    connector = make({ controlToken: TOKEN })
  })
  afterEach(async () => {
    await connector.close()
    await server.close()
  })

  test('is shown the instance and the token, and takes calls', async () => {
    await connector.start()
    expect(server.headers[0]).toMatchObject({ 'x-langbot-instance-id': 'inst-1', 'x-langbot-box-control-token': TOKEN })
    expect(server.headers[0]).not.toHaveProperty('sec-websocket-protocol')
    await expect(connector.client.exec(CONTEXT, { session_id: 's1', cmd: 'true' })).resolves.toEqual(RESULT)
  })

  test('carries messages of megabytes both ways, many at once', async () => {
    const stdout = '界"\\😀'.repeat(200_000)
    server.script.on('box_exec', ({ data }) => ({ data: { ...RESULT, stdout: String(data['cmd']) } }))
    await connector.start()
    const results = await Promise.all(Array.from({ length: 4 }, () => connector.client.exec(CONTEXT, { session_id: 's1', cmd: stdout })))
    for (const result of results) expect(result.stdout === stdout).toBe(true)
  })

  test('that refuses the instance is a reason, not a crash', async () => {
    const stranger = make({ instance: 'inst-2' })
    await stranger.start()
    expect(stranger.reason).toMatch(/cannot reach the Box server at ws:.*: Unexpected server response: 401/)
    await stranger.close()
  })

  test('that is not there is a reason, too', async () => {
    await server.close()
    await connector.start()
    expect(connector.reason).toMatch(/ECONNREFUSED/)
    expect(connector.state).toBe('waiting')
  })

  test('that closes cleanly is a disconnection, as is one that is cut off', async () => {
    await connector.start()
    const [closed] = [lost()]
    for (const socket of server.sockets) socket.close(1001, 'going away')
    await expect(closed).resolves.toBe('the server closed the connection (code 1001: going away)')
    await clock.armed(3000)
    const { promise: connected, resolve } = Promise.withResolvers<void>()
    connector.watch(({ type }) => type === 'connected' && resolve())
    clock.pass(3000)
    await connected
    const cut = lost()
    for (const socket of server.sockets) socket.terminate()
    await expect(cut).resolves.toBe('the server closed the connection (code 1006)')
  })

  test('that sends more than a message may hold is cut off', async () => {
    server.script.on('box_health', { data: { text: 'x'.repeat(17 * 1024 * 1024) } })
    await connector.start()
    const cut = lost()
    await expect(connector.client.health()).rejects.toMatchObject({ boxClass: 'BoxRuntimeUnavailableError' })
    await expect(cut).resolves.toMatch(/Max payload size exceeded/)
  })

  test('that restarts at the same address is found again, and nothing is opened twice', async () => {
    await connector.start()
    const { port } = server
    const gone = lost()
    await server.close()
    await gone
    await clock.armed(3000)
    server = await startSocketServer(createScript(), undefined, port)
    const { promise: connected, resolve } = Promise.withResolvers<void>()
    connector.watch(({ type }) => type === 'connected' && resolve())
    clock.pass(3000)
    await connected
    await expect(connector.client.getSessions(CONTEXT)).resolves.toHaveLength(1)
    expect(server.sockets.size).toBe(1)
  })

  test('closing leaves no socket behind', async () => {
    await connector.start()
    const [socket] = server.sockets
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    socket?.on('close', () => resolve())
    await connector.close()
    await gone
    expect(server.sockets.size).toBe(0)
  })
})
