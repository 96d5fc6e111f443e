/**
 * A server of 2026-07-28 that needs something of a client from before: it answers with questions and is asked again with the answers; the
 * client gets the questions as requests.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import type { CallOptions } from '../../../mcp/share/open-call.ts'
import { INTERNAL_ERROR, isObject } from '../../../mcp/share/message.ts'
import type { JsonObject, Reply } from '../../../mcp/share/message.ts'

const MAXIMUM_ROUNDS = 16

type Call = (params: JsonObject | undefined) => Promise<Reply>

export async function withInputs(call: Call, params: JsonObject | undefined, { onRequest, signal }: CallOptions): Promise<Reply> {
  let reply = await call(params)
  for (let round = 0; 'result' in reply && reply.result['resultType'] === 'input_required'; round += 1) {
    const { inputRequests = {}, requestState } = reply.result
    if (onRequest === undefined || signal === undefined || !isObject(inputRequests) || round >= MAXIMUM_ROUNDS)
      return failure('the MCP server needs input that this client cannot give')
    const answers: [string, unknown][] = []
    for (const [name, question] of Object.entries(inputRequests)) {
      if (!isObject(question) || typeof question['method'] !== 'string') return failure('the MCP server asked for input in no known way')
      const { method, params: asked } = question
      const answer = await onRequest({ method, params: isObject(asked) ? asked : undefined }, signal)
      if ('error' in answer) return answer
      answers.push([name, answer.result])
    }
    reply = await call({ ...params, inputResponses: Object.fromEntries(answers), ...(requestState === undefined ? {} : { requestState }) })
  }
  return reply
}

function failure(message: string): Reply {
  return { error: { code: INTERNAL_ERROR, message } }
}
