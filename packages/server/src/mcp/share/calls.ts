/**
 * Calls under way to one server: each client's ids and progress tokens become ids of our own, and each answer finds its way back.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * Every call ends: with an answer, with the server's end, because its caller left, or because nothing was heard of it for too long. In the
 * last two cases the server is told.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { forsakenCalls } from './forsaken-calls.ts'
import type { JsonText } from './large-json.ts'
import type { ShareLimits } from './limits.ts'
import { isId, metaOf, notificationText, requestText } from './message.ts'
import type { JsonObject, Reply, RpcId } from './message.ts'
import { OpenCall } from './open-call.ts'
import type { Call, CallOptions } from './open-call.ts'
import type { Outgoing } from './server-lines.ts'

export interface WishedCall {
  /** `null`: the server is asked by ourselves. */
  readonly client: object | null
  readonly method: string
  readonly params: JsonObject | undefined
  /** The parameters as the server is to see them; `progressToken` is there when the caller wants to hear of progress. */
  readonly dress: (params: JsonObject | undefined, progressToken: number | undefined) => JsonObject | undefined
  readonly options?: CallOptions
  readonly timeoutMs?: number
}

export interface Calls {
  readonly size: number
  nextId(): number
  call(wish: WishedCall): Promise<Reply>
  /** Whether anybody waited for it. */
  answered(id: RpcId, reply: Reply): boolean
  failed(id: number, error: HoldfastError): boolean
  progressed(params: JsonObject): void
  /** The newest call, when all that the server may be at are one client's: also those that nobody waits for any more. */
  sole(): Call | null
  /** This client waits for nothing any more. */
  leave(client: object): void
  failAll(error: HoldfastError): void
}

/** Nobody takes them back. */
const FIRST_WORDS: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

export function createCalls(needs: { readonly outgoing: Outgoing; readonly limits: ShareLimits; readonly firstId: number }): Calls {
  const { outgoing, limits, firstId } = needs
  const open = new Map<RpcId, OpenCall>()
  const forsaken = forsakenCalls({ keptMs: limits.requestMs, maximum: limits.calls })
  let lastId = firstId - 1

  const nextId = () => (lastId += 1)

  function giveUp(id: RpcId, late: OpenCall, error: HoldfastError, isFirstWord = false): void {
    if (late.isOver) return
    late.fail(error)
    const params = { requestId: id, reason: error.message }
    if (!isFirstWord) outgoing.send(notificationText({ method: 'notifications/cancelled', params })).catch(() => {})
  }

  function send(text: JsonText, opened: OpenCall): void {
    if (text.length > limits.messageBytes) opened.fail(tooLarge(text.length, limits.messageBytes))
    else outgoing.send(text, opened).catch((cause: unknown) => opened.fail(unsent(cause)))
  }

  async function call({ client, method, params, dress, options = {}, timeoutMs = limits.requestMs }: WishedCall): Promise<Reply> {
    const { signal } = options
    if (signal?.aborted === true) throw left()
    if (open.size >= limits.calls)
      throw new HoldfastError('capacity_exhausted', `${open.size} calls to this MCP server are under way already`)
    const id = nextId()
    const wishedToken = metaOf(params)['progressToken']
    const token = isId(wishedToken) ? wishedToken : undefined
    const onTimeout = (stuck: OpenCall) => giveUp(id, stuck, timedOut(method, timeoutMs), FIRST_WORDS.has(method))
    const opened = new OpenCall({ client, options, token, timeoutMs, onTimeout })
    const onLeft = () => giveUp(id, opened, left())
    open.set(id, opened)
    signal?.addEventListener('abort', onLeft, { once: true })
    try {
      // The text is not kept for the time of the call.
      send(requestText(id, method, dress(params, token === undefined ? undefined : id)), opened)
      return await opened.outcome
    } finally {
      signal?.removeEventListener('abort', onLeft)
      open.delete(id)
      if (!opened.isAnswered && client !== null) forsaken.add(id, client)
    }
  }

  return {
    get size() {
      return open.size
    },
    nextId,
    call,
    answered(id, reply) {
      const found = open.get(id)
      found?.settle(reply)
      return found !== undefined || forsaken.answered(id)
    },
    failed(id, error) {
      const found = open.get(id)
      found?.fail(error)
      return found !== undefined
    },
    progressed(params) {
      const { progressToken } = params
      if (isId(progressToken)) open.get(progressToken)?.progressed(params)
    },
    sole() {
      let sole: Call | null = null
      for (const found of open.values()) {
        if (found.client === null) continue
        if (sole !== null && sole.client !== found.client) return null
        sole = found
      }
      return sole === null || sole.client === null || forsaken.isOfOthersThan(sole.client) ? null : sole
    },
    leave(client) {
      for (const [id, found] of open) if (found.client === client) giveUp(id, found, left())
    },
    failAll(error) {
      for (const found of open.values()) found.fail(error)
    },
  }
}

function left(): HoldfastError {
  return new HoldfastError('request_cancelled', 'the caller left before the MCP server answered')
}

function timedOut(method: string, timeoutMs: number): HoldfastError {
  const seconds = timeoutMs / 1000
  return new HoldfastError('mcp_request_timed_out', `the MCP server did not answer ${method} for ${seconds} seconds`, { method })
}

function tooLarge(bytes: number, limit: number): HoldfastError {
  const message = `the request has ${bytes} bytes; a message to an MCP server has at most ${limit}`
  return new HoldfastError('mcp_message_too_large', message, { limit_bytes: limit })
}

function unsent(cause: unknown): HoldfastError {
  // A program that ends is sometimes met by a write before its end is reported.
  if (isHoldfastError(cause) && cause.code !== 'execution_ended') return cause
  return new HoldfastError('mcp_server_exited', 'the MCP server takes no more requests', {}, { cause })
}
