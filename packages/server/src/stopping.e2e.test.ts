/** A server that is told to stop does so, whoever still hangs on to it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { because } from '../../../test/environment/backends.ts'
import { bubblewrapUnderTest, openRealServer } from './ingress/rest/contract/real-server.ts'

const under = await bubblewrapUnderTest()
/** More than every buffer on the way to a client holds. */
const COMMAND = 'head -c 50000000 /dev/zero; sleep 3600'

describe.skipIf(under.skipReason !== null)(`stopping on bubblewrap${because(under)}`, () => {
  test('a client who does not read what its command prints keeps no server from stopping', async () => {
    const real = await openRealServer()
    const id = await real.session('unread')
    const { port } = new URL(real.server.url)
    const socket = connect(Number(port), '127.0.0.1')
    const body = JSON.stringify({ session_id: id, command: COMMAND, timeout_ms: 3_600_000 })
    const headers = `host: 127.0.0.1\r\nauthorization: Bearer ${real.adminKey}\r\naccept: text/event-stream\r\ncontent-length: ${body.length}`
    socket.write(`POST /v1/exec HTTP/1.1\r\n${headers}\r\n\r\n${body}`)
    await once(socket, 'readable')
    const cut = once(socket, 'close')
    await real.close()
    socket.resume()
    await cut
  })

  test('whoever is waited for may still type, and whoever comes is told that it stops', async () => {
    const real = await openRealServer()
    const id = await real.session('typing')
    const post = (path: string, body: object, headers = {}) =>
      real.request(path, { method: 'POST', body: JSON.stringify(body), headers: { connection: 'close', ...headers } })
    const attended = await post('/v1/exec', { session_id: id, command: 'cat', interactive: true }, { accept: 'text/event-stream' })
    const words = attended.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
    let told = ''
    while (!told.includes('execution_id')) told += (await words?.next())?.value ?? ''
    const execution = /"execution_id":"(\w+)"/.exec(told)?.[1]
    const closed = real.close()
    const refused = await post('/v1/exec', { session_id: id, command: 'true' })
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: 'server_stopping' }])
    const ready = await real.request('/readyz')
    expect([ready.status, await ready.json()]).toMatchObject([503, { code: 'server_stopping' }])
    const typed = await post(`/v1/sessions/${id}/executions/${execution}/stdin`, { data: 'late', close: true })
    expect(typed.status).toBe(204)
    for (let piece = await words?.next(); piece?.done === false; piece = await words?.next()) told += piece.value
    expect(told).toMatch(/event: stdout\n.*"data":"late"[^]*event: exit\n.*"exit_code":0/)
    await closed
  })
})
