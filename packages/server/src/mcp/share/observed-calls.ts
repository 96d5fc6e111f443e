/**
 * Calls of clients, told of as they end. What we ask a server ourselves is nobody's call.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { McpObserver, McpOutcome } from '../../telemetry/observations.ts'
import type { Calls } from './calls.ts'
import type { Reply } from './message.ts'

/** What clients need of calls. */
export type ClientCalls = Pick<Calls, 'call' | 'leave'>

export function observedCalls({ call, leave }: ClientCalls, { mcpRequestEnded }: McpObserver): ClientCalls {
  return {
    async call(wish) {
      const since = performance.now()
      let outcome: McpOutcome = 'failed'
      try {
        const reply = await call(wish)
        outcome = outcomeOf(reply)
        return reply
      } catch (error) {
        if (isHoldfastError(error, 'request_cancelled')) outcome = 'left'
        throw error
      } finally {
        mcpRequestEnded(wish.method === 'tools/call' ? 'tools/call' : 'other', outcome, (performance.now() - since) / 1000)
      }
    },
    leave,
  }
}

function outcomeOf(reply: Reply): McpOutcome {
  if ('error' in reply) return 'refused'
  return reply.result['isError'] === true ? 'tool_error' : 'answered'
}
