/**
 * The gateway to MCP servers in boxes: Streamable HTTP of both eras of the protocol, on one address for each server.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * Whoever comes here has come in already. What is asked for decides the era, not who asks: both can share one server, of either era.
 */
import type { DirectAnswer } from '../direct-door.ts'
import { exchanges } from './http/exchange.ts'
import { createListenStreams } from './http/listen-streams.ts'
import type { GatewayTarget, GatewayVisit } from './http/gateway-visit.ts'
import { refuse } from './http/json-answer.ts'
import { legacyDoor } from './http/legacy-door.ts'
import { createLegacySessions } from './http/legacy-sessions.ts'
import { GATEWAY_LIMITS } from './http/limits.ts'
import type { GatewayLimits } from './http/limits.ts'
import { modernDoor } from './http/modern-door.ts'
import { outboxes } from './http/outbox.ts'
import { readMessage } from './http/read-body.ts'

export interface GatewayNeeds {
  readonly clock: () => number
  /** For sessions; nobody may guess one. */
  readonly newId: () => string
  readonly limits?: Partial<GatewayLimits>
}

export interface McpGateway {
  /** Throws `payload_too_large`, `capacity_exhausted` and what `targetOf` does, which is asked when the message is there; what concerns the server is answered in the protocol. */
  handle(visit: GatewayVisit, targetOf: () => Promise<GatewayTarget>): Promise<DirectAnswer>
  readonly counts: { readonly sessions: number; readonly listeners: number }
  close(): void
}

const SWEEP_MS = 60_000

export function mcpGateway({ clock, newId, limits: wished = {} }: GatewayNeeds): McpGateway {
  const limits = { ...GATEWAY_LIMITS, ...wished }
  const newOutbox = outboxes(limits)
  const sessions = createLegacySessions({ limits, clock, newId, newOutbox })
  const listenStreams = createListenStreams({ limits, newOutbox })
  const openExchange = exchanges({ limits, newOutbox })
  const legacy = legacyDoor({ sessions, openExchange, keepAliveMs: limits.keepAliveMs })
  const modern = modernDoor({ listenStreams, openExchange })
  const sweeping = setInterval(() => sessions.sweep(), SWEEP_MS)
  sweeping.unref()

  return {
    async handle(visit, targetOf) {
      if (visit.method === 'GET') return legacy.get(visit, await targetOf())
      if (visit.method === 'DELETE') return legacy.delete(visit, await targetOf())
      const read = await readMessage(visit, limits)
      if (read.kind === 'refused') return refuse(visit, read.refusal, read.id)
      const target = await targetOf()
      return read.kind === 'modern' ? modern(visit, target, read.message) : legacy.post(visit, target, read.message)
    },
    get counts() {
      return { sessions: sessions.size, listeners: listenStreams.size }
    },
    close() {
      clearInterval(sweeping)
      sessions.close()
    },
  }
}
