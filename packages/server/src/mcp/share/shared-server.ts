/**
 * One stdio MCP server for many clients.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * The server is greeted once. Each client's ids, progress tokens, cancellations, log level and subscriptions are its own; what the server
 * tells goes to those whom it concerns. A client that leaves leaves nothing behind; when the server ends, everybody who waits is told.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { Log } from '../../telemetry/log.ts'
import { unobserved } from '../../telemetry/observations.ts'
import type { McpObserver } from '../../telemetry/observations.ts'
import { createAsking } from './asking.ts'
import { createCalls } from './calls.ts'
import { legacyDialect, modernDialect } from './dialect.ts'
import type { Dialect } from './dialect.ts'
import { exited } from './exited.ts'
import { createFanOut } from './fan-out.ts'
import { shakeHands } from './handshake.ts'
import type { Handshake } from './handshake.ts'
import { inTime } from './handshake-time.ts'
import { SHARE_LIMITS } from './limits.ts'
import type { ShareLimits } from './limits.ts'
import { scanInTurns } from './json-scan.ts'
import type { JsonScan } from './json-scan.ts'
import { isLarge, largeObject } from './large-json.ts'
import { answerText, messageOf, messagesOf, notificationText } from './message.ts'
import type { JsonObject, RpcMessage } from './message.ts'
import { MessageLines } from './message-lines.ts'
import type { MessageLine } from './message-lines.ts'
import { observedCalls } from './observed-calls.ts'
import { createPace } from './pace.ts'
import { outgoingTo } from './server-lines.ts'
import type { ServerLines } from './server-lines.ts'
import { createSharedClients } from './shared-clients.ts'
import type { ClientListener, SharedClient } from './shared-clients.ts'

export interface ShareNeeds {
  readonly lines: ServerLines
  /** Who we are to a server of before. */
  readonly clientInfo: JsonObject
  /** What such a server may ask clients for: some of them can, and those who cannot are not asked. */
  readonly capabilities?: JsonObject
  readonly limits?: Partial<ShareLimits>
  /** In milliseconds. */
  readonly clock: () => number
  readonly log: Log
  readonly observer?: McpObserver
  /** A line that the server printed among its messages, without its end. */
  readonly onLog: (line: string) => void
  /** `initialize`, for a server that ended at another first word. */
  readonly firstWord?: 'discover' | 'initialize'
  /** Its clients are of several conversations: what it logs is told only to the one whose calls alone it is at. */
  readonly keepsLogsApart?: boolean
  /** The process was greeted before, by somebody who is gone, and said this. */
  readonly known?: Handshake
}

export interface ShareCounts {
  readonly clients: number
  readonly calls: number
  readonly asks: number
  readonly subscriptions: number
}

export interface SharedServer {
  /** Rejects with `mcp_init_failed`, or with what ended the server. */
  readonly initialized: Promise<Handshake>
  /** Resolves with why, once it is over. */
  readonly ended: Promise<HoldfastError>
  readonly isOver: boolean
  readonly counts: ShareCounts
  /** Throws `capacity_exhausted`, or why it is over. */
  connect(listener: ClientListener): SharedClient
  /** Resolves when it answers. */
  check(timeoutMs: number): Promise<void>
  /** Lets go of the server, which may run on. */
  close(reason?: HoldfastError): void
}

/** What somebody could answer; the roots of a client are not of the server's machine, but the server is told so if it asks. */
const ASKABLE: JsonObject = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} }
const MAXIMUM_LOG_CHARACTERS = 8192
/** What is looked at before the clock is. */
const LINES_AT_ONCE = 32

export function shareServer(needs: ShareNeeds): SharedServer {
  const { lines, clientInfo, capabilities = ASKABLE, clock, log, onLog, firstWord = 'discover', known } = needs
  const { keepsLogsApart = false, observer = unobserved } = needs
  const limits: ShareLimits = { ...SHARE_LIMITS, ...needs.limits }
  const outgoing = outgoingTo({ lines, maximumBytes: limits.waitingBytes, onDoubt })
  // Ids of somebody before us may still be answered.
  const calls = createCalls({ outgoing, limits, firstId: known === undefined ? 1 : clock() })
  const asking = createAsking({ sole: calls.sole, clientOf: (client) => clients.find(client) })
  const pace = createPace(clock)
  const ended = Promise.withResolvers<HoldfastError>()
  let over: HoldfastError | null = null
  let dialect: Dialect | null = null

  const notify = (method: string, params?: JsonObject) => outgoing.send(notificationText({ method, params }))
  const request = (method: string, params: JsonObject, timeoutMs = limits.requestMs) =>
    calls.call({ client: null, method, params, dress: (plain) => plain, timeoutMs })

  const greeting =
    known === undefined
      ? shakeHands({ clientInfo, capabilities, firstWord, notify, ...inTime({ request, limits }, clock) })
      : Promise.resolve(known)
  const initialized = greeting.then((handshake) => {
    dialect = (handshake.era === 'legacy' ? legacyDialect : modernDialect)({
      handshake,
      request,
      open(method, params) {
        const id = calls.nextId()
        outgoing.send(JSON.stringify({ jsonrpc: '2.0', id, method, params })).catch(() => {})
        return id
      },
      cancel: (id) => void notify('notifications/cancelled', { requestId: id }).catch(() => {}),
      self: { info: clientInfo, capabilities: {}, level: null },
    })
    return { handshake, dialect }
  })
  const clients = createSharedClients({ calls: observedCalls(calls, observer), asking, ready: initialized, limits, notify })
  const fanOut = createFanOut({
    clients: clients.all,
    level: () => clients.level,
    isSubscribed: clients.isSubscribed,
    sole: calls.sole,
    keepsLogsApart,
  })

  /** Whoever waits may wait for an answer to what never arrived. */
  function onDoubt(error: unknown): void {
    if (isHoldfastError(error, 'input_uncertain')) calls.failAll(error)
  }

  function end(reason: HoldfastError): void {
    if (over !== null) return
    over = reason
    calls.failAll(reason)
    clients.closeAll()
    lines.close()
    ended.resolve(reason)
  }

  /** Whether somebody waited for it. */
  function hear(message: RpcMessage): boolean {
    if (message.kind === 'answer') {
      const isClaimed = calls.answered(message.id, message.reply)
      if (!isClaimed) log.debug('mcp-answer-unclaimed')
      return isClaimed
    }
    if (message.kind === 'request') {
      const answered = asking.ask(message).then((reply) => outgoing.send(answerText(message.id, reply)))
      answered.catch(() => log.debug('mcp-answer-unsent'))
      return false
    }
    const heard = dialect === null ? message : dialect.heard(message)
    if (heard?.method === 'notifications/progress') calls.progressed(heard.params ?? {})
    else if (heard?.method === 'notifications/cancelled') asking.cancelled(heard.params ?? {})
    else if (heard !== null) fanOut.tell(heard)
    return false
  }

  /** Fails the call that a message would have answered. Whether there is one. */
  function drop(id: number | null, what: string): boolean {
    const error = new HoldfastError('mcp_message_too_large', `the MCP server sent a message ${what}`, { limit_bytes: limits.messageBytes })
    const isClaimed = id !== null && calls.failed(id, error)
    if (!isClaimed) log.warn('mcp-line-dropped', { limit_bytes: limits.messageBytes })
    return isClaimed
  }

  /** Whether somebody waited for all of it. */
  function takeText(text: string): boolean {
    const messages = messagesOf(text)
    if (messages.length === 0 && text.trim() !== '') onLog(text.slice(0, MAXIMUM_LOG_CHARACTERS))
    return messages.filter((message) => !hear(message)).length === 0 && messages.length > 0
  }

  /** What is too large to be parsed is passed on as text, once it is known where it goes. */
  async function takeBytes(bytes: Buffer): Promise<boolean> {
    const scan = await scanInTurns(bytes)
    if (!isLarge(scan)) return takeText(bytes.toString('utf8'))
    const value = largeObject(bytes, scan)
    const message = messageOf(value)
    if (message !== null) return hear(message)
    if (scan.problem === null) return drop(idOf(bytes, scan), `with more than ${scan.first.length} members on its first levels`)
    onLog(bytes.toString('utf8', 0, MAXIMUM_LOG_CHARACTERS))
    return false
  }

  async function take(line: MessageLine): Promise<void> {
    let isAsked = false
    try {
      if ('tooLong' in line) isAsked = drop(line.id, `above ${limits.messageBytes} bytes`)
      else isAsked = 'text' in line ? takeText(line.text) : await takeBytes(line.bytes)
    } catch {
      // One line that cannot be passed on is no reason to hear no others.
      log.warn('mcp-line-dropped')
    }
    if (!isAsked) pace.unasked('tooLong' in line ? limits.messageBytes : 'text' in line ? line.text.length : line.bytes.length)
  }

  /** Others have their turn between lines, however many came at once. */
  async function takeAll(received: readonly MessageLine[]): Promise<void> {
    for (const [at, line] of received.entries()) {
      if ('bytes' in line) await take(line)
      else void take(line)
      const rest = at % LINES_AT_ONCE === 0 ? pace.rest() : null
      if (rest !== null) await rest
    }
  }

  async function read(): Promise<void> {
    const framer = new MessageLines(limits.messageBytes)
    for (let bytes = await lines.next(); bytes !== null; bytes = await lines.next()) {
      await takeAll(framer.push(bytes))
      lines.sent?.(bytes.length)
      lines.confirm?.()
      const rest = pace.rest()
      if (rest !== null) await rest
    }
    await takeAll(framer.end())
    // Whoever let go of it does not wait for it.
    if (over === null) end(exited(await lines.ended))
  }

  read().catch((error: unknown) => end(isHoldfastError(error) ? error : lost(error)))
  lines.ended.catch(() => {})
  initialized.catch((error: unknown) => end(isHoldfastError(error) ? error : lost(error)))

  return {
    initialized: initialized.then(({ handshake }) => handshake),
    ended: ended.promise,
    get isOver() {
      return over !== null
    },
    get counts() {
      return { clients: clients.size, calls: calls.size, asks: asking.size, subscriptions: clients.subscriptions }
    },
    connect(listener) {
      if (over !== null) throw over
      return clients.connect(listener)
    },
    async check(timeoutMs) {
      const { handshake, dialect: spoken } = await initialized
      const isModern = handshake.era === 'modern'
      const self = { info: clientInfo, capabilities: {}, level: null }
      // That it answers at all is what counts.
      await request(isModern ? 'server/discover' : 'ping', spoken.dress({}, self, undefined) ?? {}, timeoutMs)
    },
    close(reason = new HoldfastError('server_stopping', 'the MCP server is being let go of')) {
      end(reason)
    },
  }
}

/** The id of a message that is not read further. */
function idOf(bytes: Buffer, { first }: JsonScan): number | null {
  const span = first.find(({ nameFrom, nameTo }) => bytes.toString('utf8', nameFrom, nameTo) === '"id"')
  const id = span === undefined ? Number.NaN : Number(bytes.toString('utf8', span.from, Math.min(span.to, span.from + 20)))
  return Number.isSafeInteger(id) ? id : null
}

function lost(cause: unknown): HoldfastError {
  return new HoldfastError('mcp_server_exited', 'contact with the MCP server was lost', {}, { cause })
}
