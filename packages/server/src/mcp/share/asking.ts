/**
 * Requests of a server to its clients: sampling, elicitation, roots.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * On a stdio server's pipe nothing says which call such a request belongs to. So it goes to a client only when all calls that the server
 * may be at are that one's, and the client said that it can answer; else the server is told no. Nobody is asked on behalf of somebody else.
 */
import { INTERNAL_ERROR, isObject, METHOD_NOT_FOUND } from './message.ts'
import type { JsonObject, Reply, RpcId, RpcRequest } from './message.ts'
import type { Call } from './open-call.ts'

/** Which capability of a client each request needs. */
const CAPABILITY_OF: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}
const MAXIMUM_UNDER_WAY = 64

export interface AskedClient {
  readonly capabilities: JsonObject
}

export interface Asking {
  readonly size: number
  /** Whether the server waits for an answer of this client. */
  isAsked(client: object): boolean
  ask(request: RpcRequest): Promise<Reply>
  /** The server takes a request back. */
  cancelled(params: JsonObject): void
}

interface Asked {
  readonly client: object
  readonly takenBack: AbortController
}

export function createAsking(needs: { sole(): Call | null; clientOf(client: object): AskedClient | undefined }): Asking {
  const asked = new Map<RpcId, Asked>()

  async function ask({ id, method, params }: RpcRequest): Promise<Reply> {
    if (method === 'ping') return { result: {} }
    const capability = Object.hasOwn(CAPABILITY_OF, method) ? CAPABILITY_OF[method] : undefined
    if (capability === undefined) return refusal(METHOD_NOT_FOUND, `clients are not asked for ${method.slice(0, 100)}`)
    const call = needs.sole()
    if (call === null) return refusal(INTERNAL_ERROR, `${method} belongs to no single call under way, so no client can be asked`)
    const { client, options, over } = call
    const known = client === null ? undefined : needs.clientOf(client)
    if (client === null || options.onRequest === undefined || !isObject(known?.capabilities[capability]))
      return refusal(METHOD_NOT_FOUND, `the client whose call is under way does not offer ${capability}`)
    if (asked.size >= MAXIMUM_UNDER_WAY || asked.has(id)) return refusal(INTERNAL_ERROR, 'too many requests to clients are under way')
    const takenBack = new AbortController()
    asked.set(id, { client, takenBack })
    try {
      const signal = AbortSignal.any([over, takenBack.signal])
      return await Promise.race([options.onRequest({ method, params }, signal), whenAborted(signal)])
    } catch {
      // The server waits for an answer, whatever it is.
      return refusal(INTERNAL_ERROR, 'the client could not be asked')
    } finally {
      asked.delete(id)
    }
  }

  return {
    get size() {
      return asked.size
    },
    isAsked: (client) => asked.values().some((entry) => entry.client === client),
    ask,
    cancelled({ requestId }) {
      if (typeof requestId === 'string' || typeof requestId === 'number') asked.get(requestId)?.takenBack.abort()
    },
  }
}

function whenAborted(signal: AbortSignal): Promise<Reply> {
  return new Promise((resolve) => {
    const gone = () => resolve(refusal(INTERNAL_ERROR, 'the client was not there long enough to answer'))
    if (signal.aborted) return gone()
    signal.addEventListener('abort', gone, { once: true })
  })
}

function refusal(code: number, message: string): Reply {
  return { error: { code, message } }
}
