/**
 * A TCP proxy that misbehaves as it is told: it cuts connections in the middle of answers, or lets none through.
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** After so many bytes from the server the connection is cut; `Infinity` for never. Asked once for each connection. */
export type CutAfter = (connection: number) => number

export interface CuttingProxy {
  readonly url: string
  /** How many connections were cut so far. */
  readonly cuts: number
  /** From now on, for new connections. */
  cutAfter(rule: CutAfter): void
  /** Cuts everything that is open. */
  cutAll(): void
  close(): Promise<void>
}

export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  let rule: CutAfter = () => Infinity
  let connections = 0
  let cuts = 0

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let left = rule(connections)
    connections += 1
    const cut = () => {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
      socket.on('error', cut)
    }
    client.pipe(upstream)
    upstream.on('end', () => client.end())
    upstream.on('data', (bytes) => {
      const passed = bytes.subarray(0, Math.max(0, left))
      left -= bytes.length
      if (left >= 0) {
        if (!client.write(passed)) upstream.pause()
        return
      }
      cuts += 1
      // What was let through has to arrive, or nothing would ever be cut in the middle.
      client.write(passed, cut)
    })
    client.on('drain', () => upstream.resume())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${address.port}`,
    get cuts() {
      return cuts
    },
    cutAfter(next) {
      rule = next
    },
    cutAll() {
      for (const socket of open) socket.resetAndDestroy()
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

/** The same numbers for the same seed: from 0 up to, not including, 1. */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
