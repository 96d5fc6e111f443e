/**
 * `/rpc/ws`: the Box protocol over WebSockets, one JSON text per message.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Whoever may not speak here is told so before the upgrade, in plain text and without a reason. A binary message ends the conversation,
 * as does one above 16 MiB.
 */
import { MAXIMUM_MESSAGE_BYTES } from '@holdfast/protocol/box'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { CLOSE_NORMAL } from '../sockets/close-codes.ts'
import { startHeartbeat } from '../sockets/heartbeat.ts'
import type { Connection } from './connection.ts'
import type { BoxCredentials, BoxPeer } from './credentials.ts'
import { refusePlainly, refuseUnauthorized } from './relay-gate.ts'
import type { BoxSockets } from './relay-gate.ts'
import { dismiss } from '../sockets/dismiss.ts'

const RPC_PATH = '/rpc/ws'
/** More than any host opens, and few enough to hold. */
const MAXIMUM_CONNECTIONS = 256
const PING_EVERY_MS = 60_000

export interface Carrier {
  readonly send: (text: string) => Promise<void>
  readonly onPressure: (isHigh: boolean) => void
}
export type Connect = (peer: BoxPeer, carrier: Carrier) => Connection

export interface RpcSocketNeeds {
  readonly credentials: BoxCredentials
  readonly connect: Connect
}

export function rpcSockets({ credentials, connect }: RpcSocketNeeds): BoxSockets {
  const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: MAXIMUM_MESSAGE_BYTES })
  const open = new Map<WebSocket, Promise<void>>()
  let isClosing = false

  async function converse(socket: WebSocket, peer: BoxPeer): Promise<void> {
    const connection = connect(peer, {
      send: async (text) => new Promise((resolve) => socket.send(text, () => resolve())),
      onPressure: (isHigh) => (isHigh ? socket.pause() : socket.resume()),
    })
    // The library closes a socket that breaks the protocol; the end of it is told by `close`.
    socket.on('error', () => undefined)
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) socket.close(CLOSE_NORMAL)
      else connection.receive(data.toString('utf8'))
    })
    startHeartbeat(socket, PING_EVERY_MS)
    await new Promise((resolve) => socket.once('close', resolve))
    await connection.close()
  }

  return {
    serves: (path) => path === RPC_PATH,
    upgrade(request, connection, head) {
      connection.on('error', () => connection.destroy())
      if (isClosing || open.size >= MAXIMUM_CONNECTIONS)
        return refusePlainly(connection, '503 Service Unavailable', 'text/plain; charset=utf-8', 'Service Unavailable')
      const peer = credentials.peerOf(request, { pins: true })
      if (peer === null) return refuseUnauthorized(connection)
      server.handleUpgrade(request, connection, head, (socket) => {
        const done = converse(socket, peer).finally(() => open.delete(socket))
        open.set(socket, done)
      })
    },
    async close() {
      isClosing = true
      const conversations = [...open.values()]
      await Promise.all([...open.keys()].map(dismiss))
      await Promise.all(conversations)
    },
  }
}
