/**
 * An upgrade that is passed on to an app inside: its handshake as HTTP, and bytes as they come once the app has agreed.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { ServerResponse } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { requestOver } from '../../sessions/http-over-port.ts'
import type { InnerRequest } from '../../sessions/http-over-port.ts'
import type { EarlyBytes } from '../sockets/early-bytes.ts'
import { answered } from './exchange.ts'
import type { Outwards } from './exchange.ts'

/** How long an app may go on after its client has said its last. */
const LINGER_MS = 5_000

/** Resolves with the status: 101 when bytes now flow, any other when the app refused and its answer was passed on. */
export function pass(
  request: IncomingMessage,
  early: EarlyBytes,
  connection: Duplex,
  wish: InnerRequest,
  outwards: Outwards,
): Promise<number> {
  const upgrade = request.headers.upgrade ?? ''
  const inner = requestOver(connection, { ...wish, headers: { ...wish.headers, connection: 'Upgrade', upgrade } })
  const answer = new ServerResponse(request)
  answer.assignSocket(request.socket)
  const leave = () => connection.destroy()
  early.left.addEventListener('abort', leave, { once: true })
  const refused = answered(inner, connection, answer, (response) => ({ ...outwards(response), connection: 'close' }))
  answer.once('finish', () => {
    if (answer.statusCode !== 101) request.socket.destroySoon()
  })
  const agreed = new Promise<number>((resolve, reject) => {
    inner.once('upgrade', (response, _connection, head) => {
      try {
        answer.writeHead(101, { ...outwards(response), connection: 'Upgrade', upgrade })
        answer.end()
        answer.detachSocket(request.socket)
      } catch (error) {
        reject(error)
        return
      }
      early.left.removeEventListener('abort', leave)
      join(request.socket, early.take(), connection, head)
      resolve(101)
    })
    inner.end()
  })
  // The loser has nothing to say.
  refused.catch(() => undefined)
  return Promise.race([agreed, refused])
}

/** Bytes as they come, both ways. The end of either is the end of both, once what was said has arrived. */
function join(client: IncomingMessage['socket'], early: Buffer, app: Duplex, head: Buffer): void {
  if (early.length > 0) app.write(early)
  if (head.length > 0) client.write(head)
  client.pipe(app)
  app.pipe(client)
  app.once('end', () => client.destroySoon())
  app.once('close', () => client.destroySoon())
  app.on('error', () => client.destroy())
  client.once('close', () => app.destroy())
  client.once('end', () => {
    const lingering = setTimeout(() => app.destroy(), LINGER_MS)
    app.once('close', () => clearTimeout(lingering))
  })
}
