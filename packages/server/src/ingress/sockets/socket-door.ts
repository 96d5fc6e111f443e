/**
 * The door for upgrades: made from the socket table, and from nothing else.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * For every request, in the order of the REST door: a request id, the check of host and origin, the key, how often its holder asks, the path and
 * the query, the handshake, the right on the session; then the connection becomes a socket. Until then a refusal is an HTTP answer with a
 * problem document. Afterwards the key and the right are asked for again from time to time.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { checkOrigin } from '../../access/listen-address.ts'
import { randomId } from '../../home/random-id.ts'
import type { SessionReads } from '../../sessions/session-reads.ts'
import type { DoorNeeds } from '../rest/door.ts'
import { loggedProblem, problemReply } from '../rest/problems.ts'
import type { Entered } from '../rest/route.ts'
import { CLOSE_GOING_AWAY } from './close-codes.ts'
import { earlyBytes } from './early-bytes.ts'
import type { EarlyBytes } from './early-bytes.ts'
import { checkHandshake, readProtocols } from './handshake.ts'
import { startHeartbeat } from './heartbeat.ts'
import { refuseUpgrade } from './refusal.ts'
import type { Conversation, SocketRow } from './socket-row.ts'
import { checkSockets, matchSocket } from './socket-table.ts'

const MAX_PAYLOAD_BYTES = 1_048_576
const PING_EVERY_MS = 20_000
const RECHECK_EVERY_MS = 15_000
/** What ends a socket when its right to be there is asked for again. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'forbidden', 'not_found'])
/** For the clients to say goodbye too. */
const FAREWELL_MS = 2_000

export interface SocketDoorNeeds extends Pick<
  DoorNeeds,
  'authenticate' | 'callerOf' | 'admit' | 'clientAddress' | 'checkHost' | 'allowedOrigins' | 'log'
> {
  readonly rows: readonly SocketRow[]
  readonly reads: Pick<SessionReads, 'open'>
  readonly pingEveryMs?: number
  readonly recheckEveryMs?: number
}

export interface SocketDoor {
  upgrade(request: IncomingMessage, connection: Duplex, head: Buffer): void
  /** Takes no more, tells everybody that the server goes away, and cuts those who do not listen. */
  close(): Promise<void>
}

/** Throws when a row of the table breaks its rules. */
export function socketDoor(needs: SocketDoorNeeds): SocketDoor {
  const { rows, reads, authenticate, callerOf, admit, clientAddress, checkHost, allowedOrigins, log } = needs
  const { pingEveryMs = PING_EVERY_MS, recheckEveryMs = RECHECK_EVERY_MS } = needs
  checkSockets(rows)
  const servers = new Map(rows.map((row) => [row, webSocketServer(row)]))
  const open = new Set<WebSocket>()
  let isClosing = false

  async function enter({ headers, socket }: IncomingMessage, key: string | undefined): Promise<Entered> {
    const header = (name: string) => [headers[name]].flat()[0]
    const principal = await authenticate({
      authorization: header('authorization'),
      apiKey: header('x-api-key') ?? (headers.authorization === undefined ? key : undefined),
      onBehalfOf: header('x-holdfast-on-behalf-of'),
      onBehalfOfGroups: header('x-holdfast-groups')?.split(/ *, */),
      tenant: header('x-holdfast-tenant'),
      address: clientAddress(socket.remoteAddress, header('x-forwarded-for')),
    })
    return { principal, caller: await callerOf(principal) }
  }

  async function admitted(request: IncomingMessage, early: EarlyBytes, requestId: string): Promise<void> {
    if (isClosing) throw new HoldfastError('server_stopping', 'the server is stopping and takes no new work')
    const { host, origin } = request.headers
    checkHost(host)
    checkOrigin(origin, host, allowedOrigins)
    const handshake = readProtocols(request)
    const entered = await enter(request, handshake.key)
    admit(entered.principal)
    const { pathname, searchParams } = urlOf(request)
    const found = matchSocket(rows, pathname)
    if (found === null) throw new HoldfastError('not_found', `there is nothing at ${pathname.slice(0, 255)} for a WebSocket`)
    const { row, params } = found
    checkHandshake(request, handshake, row.protocol)
    const problemOf = (error: unknown) => loggedProblem(error, requestId, log)
    const conversation = await row.prepare({ params, query: searchParams }, { ...entered, signal: early.left, problemOf })
    const socket = upgraded(request, early, row)
    if (socket === null) return conversation.abandon()
    const recheck = async () => {
      const { caller } = await enter(request, handshake.key)
      await reads.open(caller, row.authorization, params['id'] ?? '')
    }
    attend(socket, conversation, recheck)
  }

  /** `null`: the client has left meanwhile. */
  function upgraded(request: IncomingMessage, early: EarlyBytes, row: SocketRow): WebSocket | null {
    const { connection } = early
    let made: WebSocket | null = null
    // What it calls back it calls back at once; when it does not, there is no socket.
    servers.get(row)?.handleUpgrade(request, connection, early.take(), (socket) => void (made = socket))
    return made
  }

  function attend(socket: WebSocket, conversation: Conversation, recheck: () => Promise<void>): void {
    open.add(socket)
    const rechecking = setInterval(() => {
      recheck().catch((error: unknown) => {
        // Decision: what keeps us from asking is no refusal; the next time may go better.
        if (isHoldfastError(error) && REFUSALS.has(error.code)) conversation.dismiss(error)
      })
    }, recheckEveryMs)
    rechecking.unref()
    socket.on('close', () => {
      clearInterval(rechecking)
      open.delete(socket)
    })
    // The library closes a socket that breaks the protocol; the end of it is told by `close`.
    socket.on('error', () => undefined)
    conversation.begin(socket, startHeartbeat(socket, pingEveryMs))
    if (isClosing) socket.close(CLOSE_GOING_AWAY)
  }

  return {
    upgrade(request, connection, head) {
      const requestId = randomId('req')
      const early = earlyBytes(connection, head)
      admitted(request, early, requestId).catch((error: unknown) => {
        early.take()
        refuseUpgrade(connection, problemReply(error, requestId, log), requestId)
      })
    },
    async close() {
      isClosing = true
      const farewells = [...open].map((socket) => once(socket, 'close'))
      for (const socket of open) socket.close(CLOSE_GOING_AWAY)
      const timer = setTimeout(() => {
        for (const socket of open) socket.terminate()
      }, FAREWELL_MS)
      await Promise.all(farewells)
      clearTimeout(timer)
    },
  }
}

function webSocketServer({ protocol }: SocketRow): WebSocketServer {
  return new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: MAX_PAYLOAD_BYTES },
    handleProtocols: (offered) => offered.has(protocol) && protocol,
  })
}

function urlOf({ url = '/' }: IncomingMessage): URL {
  if (!url.startsWith('/') || !URL.canParse(url, 'http://localhost'))
    throw new HoldfastError('invalid_request', 'the address of the request is none')
  return new URL(url, 'http://localhost')
}
