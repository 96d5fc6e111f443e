/**
 * What a request must be to become a WebSocket, and what its subprotocols say.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * As strict as RFC 6455 and the library that does the upgrade, so that no request is refused after something was made for it.
 */
import type { IncomingMessage } from 'node:http'
import { HoldfastError, KEY_PROTOCOL_PREFIX } from '@holdfast/protocol'

/** A token of HTTP. */
const PROTOCOL = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

export interface Handshake {
  /** The key of a client that cannot set headers. */
  readonly key: string | undefined
  /** What is left, in the client's order. */
  readonly protocols: readonly string[]
}

/** Throws `invalid_request` for a list that is none. */
export function readProtocols({ headers }: IncomingMessage): Handshake {
  const header = headers['sec-websocket-protocol']
  const offered = header === undefined ? [] : header.split(',').map((word) => word.trim())
  if (!offered.every((word) => PROTOCOL.test(word)) || new Set(offered).size < offered.length)
    throw new HoldfastError('invalid_request', 'Sec-WebSocket-Protocol: must be different names with commas')
  const isKey = (word: string) => word.startsWith(KEY_PROTOCOL_PREFIX)
  return {
    key: offered.find(isKey)?.slice(KEY_PROTOCOL_PREFIX.length),
    protocols: offered.filter((word) => !isKey(word)),
  }
}

/** A client that names no subprotocol means the only one there is. */
export function checkHandshake({ method, headers }: IncomingMessage, { protocols }: Handshake, spoken: string): void {
  if (method !== 'GET') throw new HoldfastError('invalid_request', 'a WebSocket is opened with GET')
  const version = headers['sec-websocket-version']
  if (version !== '13') throw new HoldfastError('invalid_request', 'Sec-WebSocket-Version: must be 13')
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? ''))
    throw new HoldfastError('invalid_request', 'Sec-WebSocket-Key: must be 16 bytes in base64')
  if (protocols.length > 0 && !protocols.includes(spoken))
    throw new HoldfastError('invalid_request', `Sec-WebSocket-Protocol: must offer ${spoken}`)
}
