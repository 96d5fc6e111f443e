/**
 * Calls that can still be cancelled by a message of their own, as clients of the protocol up to 2025-11-25 do.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Each request is served by itself, so what a later one cancels is found by who sent both: the key, the speaker and the id that the client
 * was given when it began. There is an entry only for as long as a call goes on.
 */
import type { Principal } from '../../../access/principal.ts'

export interface ClientName {
  readonly principal: Pick<Principal, 'tenantId' | 'keyId' | 'subject'>
  /** What `initialize` was answered with; left out: the client takes part in no cancelling by messages. */
  readonly clientId: string | undefined
}

export interface CallUnderWay {
  /** Fires when its client cancels it. */
  readonly signal: AbortSignal
  /** To be called once it is answered. */
  end(): void
}

export interface CallsUnderWay {
  begin(client: ClientName, requestId: string | number): CallUnderWay
  cancel(client: ClientName, requestId: string | number): void
}

export function callsUnderWay(): CallsUnderWay {
  const calls = new Map<string, AbortController>()
  return {
    begin(client, requestId) {
      const name = nameOf(client, requestId)
      const call = new AbortController()
      if (client.clientId !== undefined) calls.set(name, call)
      return {
        signal: call.signal,
        end() {
          if (calls.get(name) === call) calls.delete(name)
        },
      }
    },
    cancel: (client, requestId) => calls.get(nameOf(client, requestId))?.abort(),
  }
}

/** The ids 1 and "1" are two. */
function nameOf({ principal: { tenantId, keyId, subject }, clientId }: ClientName, requestId: string | number): string {
  return JSON.stringify([tenantId, keyId, subject, clientId, requestId])
}
