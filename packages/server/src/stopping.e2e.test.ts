/** A server that is told to stop does so, whoever still hangs on to it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'vitest'
import { because } from '../../../test/environment/backends.ts'
import { bubblewrapUnderTest, openRealServer } from './ingress/rest/contract/real-server.ts'

const under = await bubblewrapUnderTest()
/** More than every buffer on the way to a client holds. */
const COMMAND = 'head -c 50000000 /dev/zero; sleep 3600'

describe.skipIf(under.skipReason !== null)(`stopping on bubblewrap${because(under)}`, () => {
  test('a client who does not read what its command prints keeps no server from stopping', { timeout: 60_000 }, async () => {
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
})
