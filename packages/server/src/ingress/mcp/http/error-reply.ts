/**
 * Failures of ours as JSON-RPC errors: a client sees the sentence, and programs find the code of our table in `data`.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import type { Visit } from '../../rest/route.ts'
import { INVALID_PARAMS } from '../../../mcp/share/message.ts'
import type { Reply } from '../../../mcp/share/message.ts'

/** Where clients have a meaning for a number of their own. */
const NUMBERS: Readonly<Record<string, number>> = {
  mcp_request_timed_out: -32001,
  mcp_tool_denied: INVALID_PARAMS,
  invalid_request: INVALID_PARAMS,
}
const OTHERWISE = -32000

export function errorReply({ problemOf }: Pick<Visit, 'problemOf'>, error: unknown): Reply {
  const { code, title, hint, retry, details, request_id } = problemOf(error)
  const number = Object.hasOwn(NUMBERS, code) ? NUMBERS[code] : undefined
  return { error: { code: number ?? OTHERWISE, message: title, data: { code, hint, retry, details, request_id } } }
}
