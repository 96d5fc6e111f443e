/**
 * What a server said when it was greeted, as it is kept for a later life of Holdfast.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * One that is longer than it may be is not kept: such a server is greeted again.
 */
import { z } from 'zod'
import type { Handshake } from '../share/handshake.ts'

const MAXIMUM_CHARACTERS = 262_144

const Said = z.object({
  era: z.enum(['legacy', 'modern']),
  protocolVersion: z.string(),
  capabilities: z.record(z.string(), z.unknown()),
  serverInfo: z.record(z.string(), z.unknown()),
  instructions: z.string().exactOptional(),
})

export function storedHandshake(handshake: Handshake): Readonly<Record<string, unknown>> | null {
  return JSON.stringify(handshake).length > MAXIMUM_CHARACTERS ? null : { ...handshake }
}

export function knownHandshake(stored: Readonly<Record<string, unknown>> | null): Handshake | undefined {
  const parsed = Said.safeParse(stored)
  return parsed.success ? parsed.data : undefined
}
