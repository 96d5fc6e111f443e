/**
 * Ports of a session: a connection to what listens inside its sandbox, also where that has no network.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Asks for the right to `exec`. An open connection is work: it keeps its session awake, and ends with it. Nothing is resumed for one,
 * because what listened has ended with the sandbox, and a page that asks again and again must not keep a session alive.
 */
import type { Duplex } from 'node:stream'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { Inside } from '../guest/inside.ts'
import type { SessionRef, SessionRow } from '../store/tables/sessions.ts'
import type { Activity } from './activity.ts'
import type { Caller } from './caller.ts'
import { checkLive, checkNotHeld } from './lifecycle/refusals.ts'
import { isLive } from './lifecycle/state.ts'
import type { Readiness } from './readiness.ts'
import type { SessionReads } from './session-reads.ts'
import { unlessAborted } from './waiting.ts'

/** At one time in one session; a sandbox has room for twice as many, commands included. */
export const MAX_CONNECTIONS = 256

export interface SessionPorts {
  /** Throws `connection_refused` when nothing listens, and `invalid_state` for a session that has no sandbox now. */
  connect(caller: Caller, sessionId: string, port: number, signal: AbortSignal): Promise<Duplex>
}

export interface SessionConnections extends SessionPorts {
  /** Every open connection counts as activity once more. */
  note(): void
  /** Whether connections to the session are open. */
  isConnected(sessionId: string): boolean
  /** Ends the connections to a sandbox that the session has no more. */
  follow(session: SessionRow): void
}

export interface SessionPortsNeeds {
  readonly reads: Pick<SessionReads, 'open'>
  readonly readiness: Pick<Readiness, 'reach'>
  readonly activity: Pick<Activity, 'note'>
  readonly maxConnections?: number
}

/** A connection, or one that is being made. */
interface Opened {
  readonly sandboxId: string | null
  readonly over: AbortController
}

export function createSessionPorts(needs: SessionPortsNeeds): SessionConnections {
  const { reads, readiness, activity, maxConnections = MAX_CONNECTIONS } = needs
  const sessions = new Map<string, { readonly ref: SessionRef; readonly opened: Set<Opened> }>()

  async function insideOf(session: SessionRow, signal: AbortSignal): Promise<Inside> {
    checkLive(session)
    checkNotHeld(session)
    const live = await unlessAborted(readiness.reach(session), signal)
    if (live !== null) return live.connected(signal)
    throw new HoldfastError('invalid_state', `the session is ${session.state}: nothing runs in it; use it, and start the app again`, {
      state: session.state,
    })
  }

  /** A place among those of its session, until it is left. */
  function enlist({ id, tenantId, sandboxId }: SessionRow): { readonly over: AbortSignal; leave(): void } {
    const known = sessions.get(id) ?? { ref: { id, tenantId }, opened: new Set() }
    if (known.opened.size >= maxConnections)
      throw new HoldfastError('capacity_exhausted', `${maxConnections} connections to one session may be open at a time`, {
        limit: maxConnections,
      })
    const place = { sandboxId, over: new AbortController() }
    sessions.set(id, known)
    known.opened.add(place)
    return {
      over: place.over.signal,
      leave() {
        known.opened.delete(place)
        if (known.opened.size === 0 && sessions.get(id) === known) sessions.delete(id)
      },
    }
  }

  return {
    async connect(caller, sessionId, port, signal) {
      const session = await reads.open(caller, 'exec', sessionId)
      const { over, leave } = enlist(session)
      try {
        const inside = await insideOf(session, signal)
        const connection = await inside.connect(port, signal)
        const end = () => connection.destroy(gone())
        over.addEventListener('abort', end, { once: true })
        connection.once('close', () => {
          leave()
          activity.note(session)
        })
        activity.note(session)
        if (over.aborted) end()
        return connection
      } catch (error) {
        leave()
        throw isHoldfastError(error, 'connection_refused') ? notTaken(port, error) : error
      }
    },
    note() {
      for (const { ref } of sessions.values()) activity.note(ref)
    },
    isConnected: (sessionId) => sessions.has(sessionId),
    follow({ id, state, sandboxId }) {
      for (const place of sessions.get(id)?.opened ?? []) if (place.sandboxId !== sandboxId || !isLive(state)) place.over.abort()
    },
  }
}

function gone(): HoldfastError {
  return new HoldfastError('sandbox_gone', 'the session has left its sandbox')
}

function notTaken(port: number, cause: HoldfastError): HoldfastError {
  const words =
    cause.details['errno'] === 'ECONNREFUSED'
      ? `nothing listens on port ${port} of the session; start the app, on 127.0.0.1 or 0.0.0.0`
      : `what listens on port ${port} of the session takes no connection; it may be stuck`
  return new HoldfastError('connection_refused', words, { port, ...cause.details }, { cause })
}
