/**
 * The relay: a managed process over a WebSocket, one line per message each way.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Everything that may be refused is refused before the upgrade. One client has the process at a time; the next gets its socket at once and
 * waits. Whoever leaves leaves the process running. Both ways are read only as fast as the other end takes it.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import { isHoldfastError } from '@holdfast/protocol'
import { DEFAULT_PROCESS_ID, MAXIMUM_MESSAGE_BYTES } from '@holdfast/protocol/box'
import { WebSocketServer } from 'ws'
import type { RawData, WebSocket } from 'ws'
import type { ProcessAttachment } from '../../sessions/processes/process-attachment.ts'
import type { Log } from '../../telemetry/log.ts'
import { backlogs } from '../sockets/backlog.ts'
import type { Work } from '../pipeline/work-budget.ts'
import { CLOSE_FAILED, CLOSE_GOING_AWAY, CLOSE_NORMAL } from '../sockets/close-codes.ts'
import { dismiss } from '../sockets/dismiss.ts'
import { earlyBytes } from '../sockets/early-bytes.ts'
import { countReceived } from '../sockets/received-bytes.ts'
import { startHeartbeat } from '../sockets/heartbeat.ts'
import { boxClassOf, failureMessages } from './failure.ts'
import { promptHearing } from './prompt-hearing.ts'
import { refusePlainly, refuseUnauthorized } from './relay-gate.ts'
import type { BoxSockets, RelayGate } from './relay-gate.ts'
import { lineReceipts } from './run/line-receipts.ts'
import type { LineReceipts } from './run/line-receipts.ts'
import type { RunningBoxRuntime } from './run/box-runtime.ts'
import { logicalIdOf } from './tenant.ts'
import type { BoxTenant } from './tenant.ts'

const PATH = /^\/v1\/sessions\/([^/]+)\/managed-process(?:\/(.+))?\/ws$/
const SUBPROTOCOL = 'mcp'
const PING_EVERY_MS = 30_000
const MAXIMUM_SOCKETS = 4096
const LINES_AT_ONCE = 128
/** Without a farewell, as the library tells it. */
const CLOSED_ABNORMALLY = 1006
/** On their way to a client that does not read. */
const MAXIMUM_SENDING_BYTES = 2_097_152

export interface RelayNeeds {
  readonly runtime: Pick<RunningBoxRuntime, 'attach'>
  readonly gate: RelayGate
  /** Directories that no message names. */
  readonly privatePaths: readonly string[]
  /** Counts a socket in the budget for work in flight. */
  readonly beginWork?: (caller: string) => Work
  readonly log: Log
}

export function relaySockets({ runtime, gate, privatePaths, beginWork, log }: RelayNeeds): BoxSockets {
  const server = new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: MAXIMUM_MESSAGE_BYTES },
    handleProtocols: (offered) => offered.has(SUBPROTOCOL) && SUBPROTOCOL,
  })
  const messageOf = failureMessages({ privatePaths, log })
  const open = new Set<WebSocket>()
  let isClosing = false

  function refuse(connection: Duplex, error: unknown): void {
    const code = boxClassOf(error)
    const message = messageOf(error, 'relay').slice(`${code}: `.length)
    const status = isHoldfastError(error) ? '400 Bad Request' : '500 Internal Server Error'
    refusePlainly(connection, status, 'application/json; charset=utf-8', JSON.stringify({ error: { code, message } }))
  }

  async function admit(request: IncomingMessage, connection: Duplex, head: Buffer): Promise<void> {
    if (isClosing || open.size >= MAXIMUM_SOCKETS)
      return refusePlainly(connection, '503 Service Unavailable', 'text/plain; charset=utf-8', 'Service Unavailable')
    const tenant = gate.tenantOf(request)
    const named = namedIn(request)
    const logicalId = tenant === null || named === null ? null : logicalIdOf(tenant, named.physicalId)
    if (tenant === null || named === null || logicalId === null) return refuseUnauthorized(connection)
    const early = earlyBytes(connection, head)
    let attachment: ProcessAttachment
    try {
      connection.once('close', beginWork?.(`relay ${tenant.namespace}`).openStream() ?? (() => undefined))
      attachment = await runtime.attach(tenant, logicalId, named.processId)
    } catch (error) {
      early.take()
      return refuse(connection, error)
    }
    let isUpgraded = false
    server.handleUpgrade(request, connection, early.take(), (socket) => {
      isUpgraded = true
      converse(socket, attachment, tenant)
      if (beginWork !== undefined) countReceived(socket, connection, () => beginWork(`relay ${tenant.namespace}`))
    })
    if (!isUpgraded) attachment.close()
  }

  function converse(socket: WebSocket, attachment: ProcessAttachment, tenant: BoxTenant): void {
    open.add(socket)
    const receipts = lineReceipts(socket, attachment)
    const [typing] = backlogs(socket)
    const hearing = promptHearing()
    const failed = (error: unknown) => unlessOver(socket, error)
    const unwatch = gate.onStale(tenant, () => socket.close(CLOSE_NORMAL))
    const seen = startHeartbeat(socket, PING_EVERY_MS)
    socket.on('error', () => undefined)
    socket.on('close', (code) => {
      open.delete(socket)
      unwatch()
      if (code !== CLOSED_ABNORMALLY) receipts.confirmTaken()
      attachment.close()
    })
    socket.on('message', (data, isBinary) => {
      if (isBinary) return
      const bytes = bytesOf(data)
      hearing.said()
      typing.add(bytes.length, () => attachment.write(bytes, failed).catch(failed))
    })
    show(socket, attachment, { receipts, seen, heard: hearing.heard }).then(
      () => socket.close(CLOSE_NORMAL),
      (error: unknown) => {
        // The server lets go of the process, which runs on.
        const code = isHoldfastError(error, 'server_stopping') ? CLOSE_GOING_AWAY : CLOSE_FAILED
        if (code === CLOSE_FAILED) messageOf(error, 'relay')
        socket.close(code)
      },
    )
    if (isClosing) void dismiss(socket)
  }

  return {
    serves: (path) => PATH.test(path),
    upgrade(request, connection, head) {
      connection.on('error', () => connection.destroy())
      admit(request, connection, head).catch((error: unknown) => refuse(connection, error))
    },
    async close() {
      isClosing = true
      await Promise.all([...open].map(dismiss))
    },
  }
}

interface Told {
  readonly receipts: LineReceipts
  /** The client has taken something. */
  seen(): void
  /** The process has said something. */
  heard(): void
}

/** Resolves when the process has ended and all of it was sent, or when nobody is there any more. */
async function show(socket: WebSocket, attachment: ProcessAttachment, { receipts, seen, heard }: Told): Promise<void> {
  let sentLines = 0
  let sendingBytes = 0
  let goOn: (() => void) | null = null
  socket.once('close', () => goOn?.())
  const room = () =>
    new Promise<void>((resolve) => {
      goOn = resolve
      if (sendingBytes <= MAXIMUM_SENDING_BYTES || socket.readyState !== socket.OPEN) resolve()
    })
  for (let line = await attachment.next(); line !== null; line = await attachment.next()) {
    heard()
    const { length } = line
    sendingBytes += length
    sentLines += 1
    receipts.note(length)
    socket.send(line, { binary: false }, (error) => {
      sendingBytes -= length
      if (!error) {
        receipts.taken()
        attachment.sent(length)
        seen()
      }
      if (sendingBytes <= MAXIMUM_SENDING_BYTES) goOn?.()
    })
    if (sendingBytes > MAXIMUM_SENDING_BYTES) await room()
    // Short lines are many: others are served between them.
    if (sentLines % LINES_AT_ONCE === 0) await immediate()
  }
  // That it let go of the process shows here; how it ended is no affair of the relay.
  if (socket.readyState === socket.OPEN) await attachment.ended
}

/** For what is said to a process: that it is over is told by the end of the socket. */
function unlessOver(socket: WebSocket, error: unknown): void {
  const isOver = isHoldfastError(error, 'execution_ended') || isHoldfastError(error, 'request_cancelled')
  if (!isOver) socket.close(isHoldfastError(error, 'server_stopping') ? CLOSE_GOING_AWAY : CLOSE_FAILED)
}

function namedIn({ url = '/' }: IncomingMessage): { readonly physicalId: string; readonly processId: string } | null {
  const found = PATH.exec(url.split('?', 1)[0] ?? '')
  if (found === null) return null
  try {
    return { physicalId: decodeURIComponent(found[1] ?? ''), processId: decodeURIComponent(found[2] ?? DEFAULT_PROCESS_ID) }
  } catch (error) {
    // Decision: an address that cannot be read names nobody's process.
    if (error instanceof URIError) return null
    throw error
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}
