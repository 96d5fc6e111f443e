/**
 * Answers that are there as a whole, and the refusals among them.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import type { JsonText } from '../../../mcp/share/large-json.ts'
import { answerText } from '../../../mcp/share/message.ts'
import type { RpcId } from '../../../mcp/share/message.ts'
import type { Visit } from '../../rest/route.ts'
import type { WholeAnswer } from '../../direct-door.ts'

/** What is answered before any MCP server is asked. */
export interface Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

export function jsonAnswer(text: JsonText, status: number, requestId: string, headers: WholeAnswer['headers'] = {}): WholeAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-request-id': requestId, ...headers },
    text,
  }
}

export function refuse({ requestId }: Pick<Visit, 'requestId'>, { status, ...error }: Refusal, id: RpcId | null = null): WholeAnswer {
  return jsonAnswer(answerText(id, { error }), status, requestId)
}

/** Without a word: a message was taken that has no answer, or something is over. */
export function done({ requestId }: Pick<Visit, 'requestId'>, status: number): WholeAnswer {
  return { status, headers: { 'x-request-id': requestId }, text: '' }
}
