/**
 * The door for upgrades: made from the socket table, and from nothing else.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * For every request, in the order of the REST door: a request id, the check of host and origin, the key, how often its holder asks, the path and
 * the query, the handshake, the right on the session; then the connection becomes a socket. Until then a refusal is an HTTP answer with a
 * problem document. Afterwards the key and the right are asked for again from time to time.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { checkOrigin } from '../../access/listen-address.ts'
import { randomId } from '../../home/random-id.ts'
import type { SessionReads } from '../../sessions/session-reads.ts'
import { unobserved } from '../../telemetry/observations.ts'
import type { RequestObserver } from '../../telemetry/observations.ts'
import { ownerOf, workBudget } from '../pipeline/work-budget.ts'
import type { DoorNeeds } from '../rest/door.ts'
import { entering } from '../rest/entering.ts'
import type { EnteringNeeds, Knock } from '../rest/entering.ts'
import { loggedProblem, problemReply } from '../rest/problems.ts'
import { answersTold } from '../rest/request-observation.ts'
import type { RequestFacts } from '../rest/request-observation.ts'
import { earlyBytes } from './early-bytes.ts'
import type { EarlyBytes } from './early-bytes.ts'
import { countReceived } from './received-bytes.ts'
import { checkHandshake, readProtocols } from './handshake.ts'
import { createOpenSockets } from './open-sockets.ts'
import { refuseUpgrade } from './refusal.ts'
import type { SocketRow } from './socket-row.ts'
import { checkSockets, matchSocket } from './socket-table.ts'

const MAX_PAYLOAD_BYTES = 1_048_576
const PING_EVERY_MS = 20_000
const RECHECK_EVERY_MS = 15_000

export interface SocketDoorNeeds extends EnteringNeeds, Pick<DoorNeeds, 'checkHost' | 'allowedOrigins' | 'log' | 'budget'> {
  readonly rows: readonly SocketRow[]
  readonly reads: Pick<SessionReads, 'open'>
  readonly observer?: RequestObserver
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
  const { rows, reads, checkHost, allowedOrigins, log, observer = unobserved, budget = workBudget() } = needs
  const { pingEveryMs = PING_EVERY_MS, recheckEveryMs = RECHECK_EVERY_MS } = needs
  const { enter, comeIn } = entering(needs)
  const tell = answersTold(observer, log)
  checkSockets(rows)
  const servers = new Map(rows.map((row) => [row, webSocketServer(row)]))
  const open = createOpenSockets({ pingEveryMs, recheckEveryMs, streamOpened: observer.streamOpened })

  async function admitted(request: IncomingMessage, early: EarlyBytes, facts: RequestFacts): Promise<void> {
    if (open.isClosing) throw new HoldfastError('server_stopping', 'the server is stopping and takes no new work')
    const { host, origin } = request.headers
    checkHost(host)
    checkOrigin(origin, host, allowedOrigins)
    const handshake = readProtocols(request)
    const knock = knockOf(request, handshake.key, facts)
    const entered = await comeIn(knock)
    const { pathname, searchParams } = urlOf(request)
    const found = matchSocket(rows, pathname)
    if (found === null) throw new HoldfastError('not_found', `there is nothing at ${pathname.slice(0, 255)} for a WebSocket`)
    const { row, params } = found
    facts.route = row.path
    checkHandshake(request, handshake, row.protocol)
    const problemOf = (error: unknown) => loggedProblem(error, facts.requestId, log)
    const owner = ownerOf(entered.principal)
    const release = budget.begin(owner).openStream()
    const opened = async () => {
      const conversation = await row.prepare({ params, query: searchParams }, { ...entered, signal: early.left, problemOf })
      const socket = upgraded(request, early, row)
      if (socket !== null) return { socket, conversation }
      conversation.abandon()
      throw new HoldfastError('request_cancelled', 'the caller left before its socket was open')
    }
    const { socket, conversation } = await opened().catch((error: unknown) => {
      release()
      throw error
    })
    socket.once('close', release)
    open.attend(socket, conversation, async () => {
      const { caller } = await enter(knock)
      await reads.open(caller, row.authorization, params['id'] ?? '')
    })
    countReceived(socket, early.connection, () => budget.begin(owner))
  }

  /** `null`: the client has left meanwhile. */
  function upgraded(request: IncomingMessage, early: EarlyBytes, row: SocketRow): WebSocket | null {
    const { connection } = early
    let made: WebSocket | null = null
    // What it calls back it calls back at once; when it does not, there is no socket.
    servers.get(row)?.handleUpgrade(request, connection, early.take(), (socket) => void (made = socket))
    return made
  }

  return {
    upgrade(request, connection, head) {
      const requestId = randomId('req')
      const early = earlyBytes(connection, head)
      const since = performance.now()
      const facts: RequestFacts = { route: null, keyId: null, requestId }
      const { method = '' } = request
      const answered = (status: number) => tell(method, since, facts, status)
      admitted(request, early, facts).then(
        () => answered(101),
        (error: unknown) => {
          const reply = problemReply(error, requestId, log)
          early.take()
          refuseUpgrade(connection, reply, requestId)
          answered(reply.status)
        },
      )
    },
    close: () => open.close(),
  }
}

function webSocketServer({ protocol }: SocketRow): WebSocketServer {
  return new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: MAX_PAYLOAD_BYTES },
    handleProtocols: (offered) => offered.has(protocol) && protocol,
  })
}

/** A browser can send its key only among the protocols. */
function knockOf({ headers, socket }: IncomingMessage, key: string | undefined, facts: RequestFacts): Knock {
  const said = (name: string) => [headers[name]].flat()[0]
  const apiKey = said('x-api-key') ?? (headers.authorization === undefined ? key : undefined)
  return { header: (name) => (name === 'x-api-key' ? apiKey : said(name)), peer: socket.remoteAddress, facts }
}

function urlOf({ url = '/' }: IncomingMessage): URL {
  if (!url.startsWith('/') || !URL.canParse(url, 'http://localhost'))
    throw new HoldfastError('invalid_request', 'the address of the request is none')
  return new URL(url, 'http://localhost')
}
