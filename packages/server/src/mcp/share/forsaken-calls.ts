/**
 * Calls that nobody waits for any more, and that the server may still be at.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * What a server asks or tells without saying for which call may belong to one of them: it must not reach whoever happens to be there
 * alone by then. A server that obeys a cancellation never says so, so each is forgotten after as long as an answer is waited for.
 */
import type { RpcId } from './message.ts'

export interface ForsakenCalls {
  add(id: RpcId, client: object): void
  /** Whether it was one of them; it is over now. */
  answered(id: RpcId): boolean
  isOfOthersThan(client: object): boolean
}

/** Stands for all that there was no room for. */
const CROWD = { id: 'crowd', client: {} } as const

export function forsakenCalls({ keptMs, maximum }: { readonly keptMs: number; readonly maximum: number }): ForsakenCalls {
  const calls = new Map<RpcId, { readonly client: object; readonly timer: NodeJS.Timeout }>()

  function answered(id: RpcId): boolean {
    clearTimeout(calls.get(id)?.timer)
    return calls.delete(id)
  }

  function keep(id: RpcId, client: object): void {
    answered(id)
    const timer = setTimeout(() => calls.delete(id), keptMs)
    timer.unref()
    calls.set(id, { client, timer })
  }

  return {
    add(id, client) {
      if (calls.size < maximum) keep(id, client)
      else keep(CROWD.id, CROWD.client)
    },
    answered: (id) => id !== CROWD.id && answered(id),
    isOfOthersThan: (client) => calls.values().some((call) => call.client !== client),
  }
}
