/**
 * The answer to one request of a client: JSON, or a stream as soon as something is to be said before the answer or it takes long.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { DirectAnswer } from '../../direct-door.ts'
import type { JsonText } from '../../../mcp/share/large-json.ts'
import { answerText, INTERNAL_ERROR } from '../../../mcp/share/message.ts'
import type { Reply, RpcId } from '../../../mcp/share/message.ts'
import { errorReply } from './error-reply.ts'
import { eventResponse } from './event-response.ts'
import type { GatewayTarget, GatewayVisit } from './gateway-visit.ts'
import { whileAllowed } from '../../rest/while-allowed.ts'
import { jsonAnswer } from './json-answer.ts'
import type { GatewayLimits } from './limits.ts'
import type { Outbox } from './outbox.ts'
import { visitorCounts } from './visitor-counts.ts'

export interface Exchange {
  readonly answered: Promise<DirectAnswer>
  /** Fires when the client has left. */
  readonly left: AbortSignal
  /** The client wants no answer any more, though it is there. */
  leave(): void
  /** Whether anything can be said before the answer. */
  readonly canStream: boolean
  /** Something before the answer. Whether it is on its way: it is lost where nobody reads it. */
  tell(text: JsonText): boolean
  answer(reply: Reply, status?: number): void
}

export interface ExchangesNeeds {
  readonly limits: GatewayLimits
  readonly newOutbox: () => Outbox
}

/** `id`: of the request. Throws `capacity_exhausted`. */
export type OpenExchange = (
  visit: GatewayVisit,
  target: Pick<GatewayTarget, 'visitor'>,
  answer: { readonly id: RpcId; readonly headers?: Readonly<Record<string, string>> },
) => Exchange

export function exchanges({ limits, newOutbox }: ExchangesNeeds): OpenExchange {
  const calls = visitorCounts({ what: 'calls under way', perVisitor: limits.callsPerVisitor })
  return (visit, { visitor }, { id, headers = {} }) =>
    openExchange({ visit, id, limits, newOutbox, headers, onAnswer: calls.enter(visitor) })
}

interface ExchangeNeeds extends ExchangesNeeds {
  readonly visit: GatewayVisit
  readonly id: RpcId
  readonly headers: Readonly<Record<string, string>>
  /** Called once: it is answered. */
  onAnswer(): void
}

function openExchange({ visit, id, limits, newOutbox, headers, onAnswer }: ExchangeNeeds): Exchange {
  const answered = Promise.withResolvers<DirectAnswer>()
  const left = new AbortController()
  const canStream = acceptsStream(visit.header('accept'))
  let outbox: Outbox | null = null
  const onLeft = () => left.abort()
  // A stream asks by itself whether its reader still may; who waits for a whole answer is asked about here.
  const allowed = canStream ? { signal: visit.signal, release: () => {} } : whileAllowed(visit)
  allowed.signal.addEventListener('abort', onLeft, { once: true })
  if (allowed.signal.aborted) onLeft()
  const impatience = canStream ? setTimeout(() => void mayStream(), limits.patienceMs) : undefined

  function streaming(): Outbox {
    if (outbox !== null) return outbox
    clearTimeout(impatience)
    const opened = newOutbox()
    const onEnd = () => {
      opened.discard()
      onLeft()
    }
    answered.resolve(eventResponse({ outbox: opened, visit, keepAliveMs: limits.keepAliveMs, headers, onEnd }))
    outbox = opened
    return opened
  }

  /** `null`: the caller has too many open streams, and waits for the answer without one. */
  function mayStream(): Outbox | null {
    try {
      return canStream ? streaming() : null
    } catch (error) {
      if (isHoldfastError(error)) return null
      throw error
    }
  }

  return {
    answered: answered.promise,
    left: left.signal,
    leave: onLeft,
    canStream,
    tell: (text) => mayStream()?.tell(text) === true,
    answer(reply, status = 200) {
      clearTimeout(impatience)
      allowed.release()
      allowed.signal.removeEventListener('abort', onLeft)
      onAnswer()
      const text = affordable(textOf(id, reply), id, visit)
      if (outbox === null) return answered.resolve(jsonAnswer(text, status, visit.requestId, headers))
      outbox.say(text)
      outbox.end()
    },
  }
}

/** An answer stays in memory until its client has read it. */
const LARGE_CHARACTERS = 65_536

function affordable(text: JsonText, id: RpcId, visit: GatewayVisit): JsonText {
  if (text.length <= LARGE_CHARACTERS) return text
  try {
    visit.reserve(text.length)
    return text
  } catch (error) {
    return answerText(id, errorReply(visit, error))
  }
}

/** What a server nested too deep for us to write is no answer. */
function textOf(id: RpcId, reply: Reply): JsonText {
  try {
    return answerText(id, reply)
  } catch {
    return answerText(id, { error: { code: INTERNAL_ERROR, message: 'the answer of the MCP server cannot be written' } })
  }
}

function acceptsStream(accept: string | undefined): boolean {
  return accept === undefined || accept.includes('text/event-stream') || accept.includes('*/*')
}
