/**
 * What a server said when it was greeted, as it is kept for a later life of Holdfast.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { z } from 'zod'
import type { Handshake } from '../share/handshake.ts'

const Said = z.object({
  era: z.enum(['legacy', 'modern']),
  protocolVersion: z.string(),
  capabilities: z.record(z.string(), z.unknown()),
  serverInfo: z.record(z.string(), z.unknown()),
  instructions: z.string().exactOptional(),
})

export function knownHandshake(stored: Readonly<Record<string, unknown>> | null): Handshake | undefined {
  const parsed = Said.safeParse(stored)
  return parsed.success ? parsed.data : undefined
}
