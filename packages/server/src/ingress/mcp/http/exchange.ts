/**
 * The answer to one request of a client: JSON, or a stream as soon as something is to be said before the answer or it takes long.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { answerText, INTERNAL_ERROR } from '../../../mcp/share/message.ts'
import type { Reply, RpcId } from '../../../mcp/share/message.ts'
import { eventResponse } from './event-response.ts'
import type { GatewayVisit } from './gateway-visit.ts'
import { jsonResponse } from './json-response.ts'
import type { GatewayLimits } from './limits.ts'
import { Outbox } from './outbox.ts'

export interface Exchange {
  readonly response: Promise<Response>
  /** Fires when the client has left. */
  readonly left: AbortSignal
  /** The client wants no answer any more, though it is there. */
  leave(): void
  /** Whether anything can be said before the answer. */
  readonly canStream: boolean
  /** A notification; lost where it cannot be told. */
  tell(text: string): void
  /** A question. */
  say(text: string): void
  answer(reply: Reply, status?: number): void
}

export interface ExchangeNeeds {
  readonly visit: GatewayVisit
  /** Of the request. */
  readonly id: RpcId
  readonly limits: GatewayLimits
  readonly headers?: Readonly<Record<string, string>>
}

export function openExchange({ visit, id, limits, headers = {} }: ExchangeNeeds): Exchange {
  const response = Promise.withResolvers<Response>()
  const left = new AbortController()
  const canStream = acceptsStream(visit.header('accept'))
  let outbox: Outbox | null = null
  const onLeft = () => left.abort()
  visit.signal.addEventListener('abort', onLeft, { once: true })
  if (visit.signal.aborted) onLeft()
  const impatience = canStream ? setTimeout(() => void streaming(), limits.patienceMs) : undefined

  function streaming(): Outbox {
    if (outbox !== null) return outbox
    clearTimeout(impatience)
    outbox = new Outbox(limits)
    response.resolve(eventResponse({ outbox, visit, keepAliveMs: limits.keepAliveMs, headers, onEnd: onLeft }))
    return outbox
  }

  return {
    response: response.promise,
    left: left.signal,
    leave: onLeft,
    canStream,
    tell(text) {
      if (canStream) streaming().tell(text)
    },
    say(text) {
      if (canStream) streaming().say(text)
    },
    answer(reply, status = 200) {
      clearTimeout(impatience)
      visit.signal.removeEventListener('abort', onLeft)
      const text = textOf(id, reply)
      if (outbox === null) return response.resolve(jsonResponse(text, status, visit.requestId, headers))
      outbox.say(text)
      outbox.end()
    },
  }
}

/** What a server nested too deep for us to write is no answer. */
function textOf(id: RpcId, reply: Reply): string {
  try {
    return answerText(id, reply)
  } catch {
    return answerText(id, { error: { code: INTERNAL_ERROR, message: 'the answer of the MCP server cannot be written' } })
  }
}

function acceptsStream(accept: string | undefined): boolean {
  return accept === undefined || accept.includes('text/event-stream') || accept.includes('*/*')
}
