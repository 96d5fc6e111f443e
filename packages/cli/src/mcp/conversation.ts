/**
 * The session that a program on our pipes works in: the one that was named, or one of its own that ends with it.
 */
import { randomUUID } from 'node:crypto'
import type { Holdfast, SandboxWish, Session } from '@holdfast/sdk'
import { isNamedByFlags, namedSession } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'

/** Whoever closed our input waits about so long before it becomes violent. */
const FAREWELL_MS = 1_500

export interface ToolConversation {
  /** Whether an id names it, which means nothing any more once it has ended. */
  readonly isById: boolean
  /** Made if need be, also after it has ended. */
  session(signal?: AbortSignal): Promise<Session>
  /** Ends the session if nobody else can know of it. */
  leave(): Promise<void>
}

export function openConversation(holdfast: Holdfast, flags: SessionFlags, wish: SandboxWish): ToolConversation {
  const isNamed = isNamedByFlags(flags) || flags.pipeline !== undefined
  const name = isNamed ? namedSession(undefined, flags) : { key: `mcp-${randomUUID()}` }
  let isUsed = false
  async function session(signal?: AbortSignal): Promise<Session> {
    isUsed = true
    return 'id' in name ? holdfast.sessions.get(name.id, { signal }) : holdfast.sessions.getOrCreate({ ...name, ...wish, signal })
  }
  return {
    isById: 'id' in name,
    session,
    async leave() {
      if (isNamed || !isUsed) return
      const signal = AbortSignal.timeout(FAREWELL_MS)
      await (await session(signal)).release({ ifBusy: 'kill', signal })
    },
  }
}
