/**
 * The way into a session for everything that is no execution: files, input, a terminal's bytes.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Whoever comes in may do so by its verb, finds a sandbox that answers (a suspended session is resumed), and counts as activity.
 */
import type { Readable } from 'node:stream'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { AsUser, Inside } from '../guest/inside.ts'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { Activity } from './activity.ts'
import type { Attendance } from './attendance.ts'
import type { Caller, SessionVerb } from './caller.ts'
import type { Inhabitant } from './executions/command.ts'
import { inhabitantOf } from './habitats.ts'
import type { Readiness } from './readiness.ts'
import type { SessionReads } from './session-reads.ts'
import type { SessionUses } from './session-uses.ts'

/** A session may be suspended or lost between being ready and being used. */
const MAX_TURNS = 4

export interface Place {
  readonly session: SessionRow
  readonly live: LiveSandbox
  readonly inside: Inside
  /** Who the session is in a sandbox that it shares; `null` when it is alone. */
  readonly inhabitant: Inhabitant | null
  /** The same, as operations on files are told it. */
  readonly as: AsUser
  /** Counts as activity once more. What flows for long says so with every piece: whoever only stays connected keeps nothing alive. */
  note(): void
}

/** A place that is in use until it is left. */
export interface EnteredPlace extends Place {
  leave(): void
}

export interface Insides {
  /** For what has no end of its own: a server that stops does not wait for it, and ends it with the connection to the sandbox. */
  enter(caller: Caller, verb: SessionVerb, sessionId: string, signal: AbortSignal): Promise<EnteredPlace>
  /** For work with an end: a server that stops waits for it for a while, then `ended` fires, as when the caller leaves. */
  during<T>(
    caller: Caller,
    verb: SessionVerb,
    sessionId: string,
    signal: AbortSignal,
    work: (place: Place, ended: AbortSignal) => Promise<T>,
  ): Promise<T>
  /** The same for work whose result is a stream: it lasts until the stream is closed. */
  streaming<T extends { readonly content: Readable | null }>(
    caller: Caller,
    verb: SessionVerb,
    sessionId: string,
    signal: AbortSignal,
    open: (place: Place, ended: AbortSignal) => Promise<T>,
  ): Promise<T>
}

export interface InsidesNeeds {
  readonly reads: SessionReads
  readonly readiness: Readiness
  readonly activity: Pick<Activity, 'note'>
  readonly attended: Attendance
  readonly uses: SessionUses
}

export function createInsides({ reads, readiness, activity, attended, uses }: InsidesNeeds): Insides {
  async function enter(caller: Caller, verb: SessionVerb, sessionId: string, signal: AbortSignal): Promise<EnteredPlace> {
    const leave = await uses.begin(sessionId)
    try {
      return { ...(await ready(caller, verb, sessionId, signal)), leave }
    } catch (error) {
      leave()
      throw error
    }
  }

  async function ready(caller: Caller, verb: SessionVerb, sessionId: string, signal: AbortSignal): Promise<Place> {
    for (let turn = 1; ; turn += 1) {
      const opened = await reads.open(caller, verb, sessionId)
      const { session, live } = await readiness.ensure(opened, caller.actor, undefined, signal)
      const note = () => activity.note(session)
      try {
        const inside = await live.connected(signal)
        note()
        const inhabitant = inhabitantOf(session)
        return { session, live, inside, inhabitant, as: inhabitant === null ? {} : { uid: inhabitant.uid }, note }
      } catch (error) {
        if (!isHoldfastError(error, 'sandbox_gone') || turn === MAX_TURNS) throw error
      }
    }
  }

  const during: Insides['during'] = (caller, verb, sessionId, signal, work) =>
    attended.during(signal, async (ended) => {
      try {
        const place = await enter(caller, verb, sessionId, ended)
        try {
          const result = await work(place, ended)
          place.note()
          return result
        } finally {
          place.leave()
        }
      } catch (error) {
        throw isHoldfastError(error) || !ended.aborted ? error : reasonOf(signal, error)
      }
    })

  function streaming<T extends { readonly content: Readable | null }>(
    caller: Caller,
    verb: SessionVerb,
    sessionId: string,
    signal: AbortSignal,
    open: (place: Place, ended: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const opened = Promise.withResolvers<T>()
    const attend = async (place: Place, ended: AbortSignal) => {
      const result = await open(place, ended)
      const closed = result.content === null ? null : closing(result.content, ended, signal)
      opened.resolve(result)
      await closed
    }
    during(caller, verb, sessionId, signal, attend).catch(opened.reject)
    return opened.promise
  }

  return { enter, during, streaming }
}

/** Why work was ended that did not want to end. */
function reasonOf(caller: AbortSignal, cause: unknown): HoldfastError {
  if (isHoldfastError(caller.reason)) return caller.reason
  if (caller.aborted) return new HoldfastError('request_cancelled', 'the caller left before this was done', {}, { cause })
  return new HoldfastError('server_stopping', 'the server stopped before this was done', {}, { cause })
}

/** Also after a failure, which its reader hears. One whose reader does not read is not waited for any longer than others. */
function closing(stream: Readable, ended: AbortSignal, caller: AbortSignal): Promise<void> | null {
  if (stream.closed) return null
  return new Promise((resolve) => {
    const end = () => stream.destroy(reasonOf(caller, ended.reason))
    stream.once('close', () => {
      ended.removeEventListener('abort', end)
      resolve()
    })
    ended.addEventListener('abort', end, { once: true })
    if (ended.aborted) end()
  })
}
