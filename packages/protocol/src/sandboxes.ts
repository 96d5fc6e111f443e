/**
 * Sandboxes on the wire: what runs, where, and for which sessions.
 */
import { z } from 'zod'
import { PagingShape } from './paging.ts'

/** `quarantined`: something in it could not be proved dead; it takes no session and is destroyed. */
export const SANDBOX_STATES = ['creating', 'ready', 'quarantined', 'ending'] as const
export type SandboxState = (typeof SANDBOX_STATES)[number]

export const ListSandboxesQuery = z.strictObject(PagingShape)

export const SandboxView = z.object({
  id: z.string(),
  backend: z.string(),
  state: z.enum(SANDBOX_STATES),
  /** The server that runs it. */
  server_id: z.string(),
  /** Ids of the sessions in it that exist for the caller. */
  sessions: z.array(z.string()),
  /** Of all sessions in it. */
  session_count: z.int(),
  /** How many it takes. */
  max_sessions: z.int(),
  created_at: z.iso.datetime(),
})
export type SandboxView = z.output<typeof SandboxView>
