/**
 * Answers that are there as a whole, and the refusals among them.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { answerText } from '../../../mcp/share/message.ts'
import type { RpcId } from '../../../mcp/share/message.ts'
import type { Visit } from '../../rest/route.ts'
import { asWhole } from '../../send-stream.ts'

type Headers = Readonly<Record<string, string>>

/** What is answered before any MCP server is asked. */
export interface Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

export function jsonResponse(text: string, status: number, requestId: string, headers: Headers = {}): Response {
  const sent = { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-request-id': requestId, ...headers }
  return asWhole(new Response(text, { status, headers: sent }))
}

export function refuse({ requestId }: Pick<Visit, 'requestId'>, { status, ...error }: Refusal, id: RpcId | null = null): Response {
  return jsonResponse(answerText(id, { error }), status, requestId)
}

/** A message was taken that has no answer. */
export function accepted({ requestId }: Pick<Visit, 'requestId'>): Response {
  return asWhole(new Response(null, { status: 202, headers: { 'x-request-id': requestId } }))
}
