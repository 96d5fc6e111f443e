/**
 * Looking at sessions: for a caller only what exists for it, for the server itself what it hosts.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Looking changes nothing and is no activity.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Store } from '../store/store.ts'
import { findSession, listSessions } from '../store/tables/sessions.ts'
import type { SessionCursor, SessionFilter, SessionRef, SessionRow } from '../store/tables/sessions.ts'
import type { Caller, SessionVerb } from './caller.ts'
import { noSuchSession } from './change.ts'
import type { Denials } from './denials.ts'

export interface SessionReads {
  /** What this caller may do this to. Throws `not_found`, or `forbidden` for what it sees but may not do. */
  open(caller: Caller, verb: SessionVerb, id: string): Promise<SessionRow>
  /** The same for a row that was just read for this caller. */
  allow(caller: Caller, verb: SessionVerb, session: SessionRow): Promise<void>
  /** Newest first, only what is visible. */
  list(caller: Caller, filter: SessionFilter, after: SessionCursor | null, limit: number): Promise<readonly SessionRow[]>
  /** For the server's own work. */
  hosted(ref: SessionRef): Promise<SessionRow | null>
}

export function sessionReads(store: Store, denials: Denials): SessionReads {
  async function allow(caller: Caller, verb: SessionVerb, session: SessionRow): Promise<void> {
    if (caller.may(verb, session)) return
    await denials.record(caller, verb, session.id, session)
    throw new HoldfastError('forbidden', `you may see this session, but not ${verb} it`, { verb })
  }
  return {
    async open(caller, verb, id) {
      const session = await store.read((sql) => findSession(sql, caller.visibility, id))
      if (session === null) {
        await denials.record(caller, verb, id, null)
        throw noSuchSession()
      }
      await allow(caller, verb, session)
      return session
    },
    allow,
    list: (caller, filter, after, limit) => store.read((sql) => listSessions(sql, caller.visibility, filter, after, limit)),
    hosted: (ref) => store.read((sql) => findSession(sql, { tenantId: ref.tenantId, owner: null, groups: [] }, ref.id)),
  }
}
