/**
 * The sessions of clients up to 2025-11-25: each is there for its holder alone, and ends when nobody uses it.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { LegacySession } from './legacy-session.ts'
import type { LegacyHolder, LegacyIdentity } from './legacy-session.ts'
import type { GatewayLimits } from './limits.ts'
import type { Outbox } from './outbox.ts'

export interface LegacySessions {
  readonly size: number
  /** Throws `capacity_exhausted`. */
  create(whose: LegacyHolder, identity: LegacyIdentity): LegacySession
  find(id: string, holder: string): LegacySession | null
  end(session: LegacySession): void
  /** Ends those that nobody used for long. */
  sweep(): void
  close(): void
}

export interface LegacySessionsNeeds {
  readonly limits: GatewayLimits
  readonly clock: () => number
  readonly newId: () => string
  readonly newOutbox: () => Outbox
}

export function createLegacySessions({ limits, clock, newId, newOutbox }: LegacySessionsNeeds): LegacySessions {
  const sessions = new Map<string, LegacySession>()
  const byVisitor = new Map<string, Set<LegacySession>>()
  const usedAt = new Map<LegacySession, number>()

  function end(session: LegacySession): void {
    sessions.delete(session.id)
    usedAt.delete(session)
    const own = byVisitor.get(session.visitor)
    own?.delete(session)
    if (own?.size === 0) byVisitor.delete(session.visitor)
    session.close()
  }

  function sweep(): void {
    const before = clock() - limits.sessionIdleMs
    for (const session of sessions.values()) if (!session.isBusy && (usedAt.get(session) ?? 0) < before) end(session)
  }

  function endIdlest(of: readonly LegacySession[]): void {
    const idle = of
      .filter((session) => !session.isBusy)
      .toSorted((first, second) => (usedAt.get(first) ?? 0) - (usedAt.get(second) ?? 0))[0]
    if (idle === undefined) throw new HoldfastError('capacity_exhausted', `${of.length} MCP clients are busy already`)
    end(idle)
  }

  /** Room is made by whoever takes the most: nobody's session ends for somebody who begins too many. */
  function makeRoom(visitor: string): void {
    const own = byVisitor.get(visitor) ?? new Set()
    if (own.size >= limits.sessionsPerVisitor) endIdlest([...own])
    if (sessions.size < limits.sessions) return
    const [largest = own] = [...byVisitor.values()].toSorted((first, second) => second.size - first.size)
    endIdlest([...largest])
  }

  return {
    get size() {
      return sessions.size
    },
    create(whose, identity) {
      const { visitor } = whose
      makeRoom(visitor)
      const session = new LegacySession(newId(), whose, identity, newOutbox())
      sessions.set(session.id, session)
      byVisitor.set(visitor, (byVisitor.get(visitor) ?? new Set()).add(session))
      usedAt.set(session, clock())
      return session
    },
    find(id, holder) {
      const session = sessions.get(id)
      if (session === undefined || session.holder !== holder) return null
      usedAt.set(session, clock())
      return session
    },
    end,
    sweep,
    close() {
      for (const session of sessions.values()) end(session)
    },
  }
}
