/**
 * A request of HTTP over a connection that is there already: to what listens inside a sandbox.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Node's own client writes the request and reads the answer, as strictly as it can, so nothing that an app or a client says becomes a
 * second request. Nothing is tried twice, and there is no time after which it is given up.
 */
import { request } from 'node:http'
import type { ClientRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol'

export interface InnerRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  /** All of them. */
  readonly headers: Readonly<Record<string, string | string[]>>
}

/** The connection is for this request alone. Throws `invalid_request` for what cannot be written. */
export function requestOver(connection: Duplex, { method, path, headers }: InnerRequest): ClientRequest {
  try {
    return request({ createConnection: () => connection, method, path, headers: { ...headers }, setHost: false, insecureHTTPParser: false })
  } catch (cause) {
    connection.destroy()
    throw new HoldfastError('invalid_request', 'the address or a header of the request cannot be passed on', {}, { cause })
  }
}
