/**
 * A connection between its request for an upgrade and the answer: watched, so that a client who leaves is noticed.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { Duplex } from 'node:stream'

/** A client should wait for its socket before it speaks; it is forgiven this much. */
const MAX_EARLY_BYTES = 65_536

export interface EarlyBytes {
  readonly connection: Duplex
  /** Fires when the client leaves. */
  readonly left: AbortSignal
  /** What came so far. From now on the connection is somebody else's. */
  take(): Buffer
}

export function earlyBytes(connection: Duplex, head: Buffer): EarlyBytes {
  const left = new AbortController()
  const chunks = [head]
  let size = head.length
  const leave = () => left.abort()
  const collect = (chunk: Buffer) => {
    size += chunk.length
    chunks.push(chunk)
    if (size > MAX_EARLY_BYTES) connection.destroy()
  }
  // A connection that breaks is one that is left; without a listener the error would end the server.
  connection.on('error', leave)
  connection.on('end', leave)
  connection.on('close', leave)
  connection.on('data', collect)
  return {
    connection,
    left: left.signal,
    take() {
      connection.off('data', collect)
      return Buffer.concat(chunks.splice(0))
    },
  }
}
