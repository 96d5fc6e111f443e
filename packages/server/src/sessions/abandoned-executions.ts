/**
 * Who attends which execution, and the end of those that nobody came back to.
 *
 * A terminal whose last client disconnected is killed after a grace, in which the client may come back; one that was detached on purpose
 * runs on. An attended command whose server died or stopped has the same grace, counted from the next start: its caller comes back with
 * its Idempotency-Key or the id of the execution. Who attends is in the store, so that a start after any crash knows.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Store } from '../store/store.ts'
import { attendedExecutions, noteAttended } from '../store/tables/execution-input.ts'
import { findExecution } from '../store/tables/executions.ts'
import type { SessionRef } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import type { Cancelling } from './executions/cancelling.ts'
import type { Executions } from './executions/executions.ts'
import type { Fleet } from './fleet.ts'

export interface Attendant {
  /** `detached`: it is to run on. Twice is fine; the first word counts. */
  leave(how: 'detached' | 'gone'): Promise<void>
}

export interface AbandonedExecutions {
  /** Throws `quota_exceeded` when too many are at terminals of this session already. */
  checkRoom(sessionId: string): void
  /** At one that was started as attended. */
  arrive(session: SessionRef, executionId: string): Attendant
  /** At one that may have been left. Resolves once it is in the store that somebody is there. */
  comeBack(session: SessionRef, executionId: string): Promise<Attendant>
  /** At a command whose caller is waited for; `null` for any other, so that looking at a terminal does not keep it. */
  visit(executionId: string): Attendant | null
  /** At one that has ended, for what it printed. */
  look(session: SessionRef, executionId: string): Attendant
  /** It is over: nobody has to be waited for. */
  ended(executionId: string): void
  /** Waits for the clients of an earlier life of this server. */
  recover(): Promise<void>
  /** What is left alone from now on is the next start's to wait for. */
  stop(): void
}

export interface AbandonedExecutionsNeeds {
  readonly store: Store
  readonly serverId: string
  readonly executions: Pick<Executions, 'running'>
  readonly cancelling: Cancelling
  readonly fleet: Pick<Fleet, 'get'>
  readonly log: Log
  readonly graceMs: number
  /** Clients at terminals of one session. */
  readonly maxAttendants: number
}

interface Place {
  readonly session: SessionRef
  /** A command whose caller is waited for, not a terminal. */
  isCommand: boolean
  attendants: number
  /** Its program has ended: nobody has to be waited for. */
  isOver: boolean
  timer: NodeJS.Timeout | null
  /** Writes of one terminal go into the store one after the other. */
  writing: Promise<void>
}

export function createAbandonedExecutions(needs: AbandonedExecutionsNeeds): AbandonedExecutions {
  const { store, serverId, executions, cancelling, fleet, log, graceMs, maxAttendants } = needs
  const places = new Map<string, Place>()
  let isStopped = false

  function placeOf(session: SessionRef, id: string): Place {
    const known = places.get(id)
    if (known !== undefined) return known
    const place: Place = { session, isCommand: false, attendants: 0, isOver: false, timer: null, writing: Promise.resolve() }
    places.set(id, place)
    return place
  }

  function disarm(place: Place): void {
    if (place.timer !== null) clearTimeout(place.timer)
    place.timer = null
  }

  function arm(id: string, place: Place): void {
    disarm(place)
    if (isStopped) return
    place.timer = setTimeout(() => void end(id, place), graceMs)
    place.timer.unref()
  }

  async function end(id: string, place: Place): Promise<void> {
    place.timer = null
    try {
      const { session } = place
      const row = await store.read((sql) => findExecution(sql, session.tenantId, session.id, id))
      if (place.attendants > 0) return
      if (row?.status === 'running') {
        log.info('execution-abandoned', { session: session.id, execution: id })
        await cancelling.one(row, executions.running(id)?.live ?? fleet.get(row.sandboxId))
      }
      forget(id, place)
    } catch (error) {
      log.warn('execution-not-ended', { execution: id, error: errorText(error) })
      if (place.attendants === 0) arm(id, place)
    }
  }

  function forget(id: string, place: Place): void {
    if (place.attendants === 0 && place.timer === null) places.delete(id)
  }

  /** As it is when its turn comes, whatever it was when it was asked for. */
  function write(id: string, place: Place): Promise<void> {
    place.writing = place.writing
      // How the write before went is for whoever asked for it.
      .catch(() => undefined)
      .then(() => store.write((transaction) => noteAttended(transaction, id, place.attendants > 0), 'process'))
    return place.writing
  }

  function attendantsIn(sessionId: string): number {
    return [...places.values()].reduce((sum, { session, attendants }) => sum + (session.id === sessionId ? attendants : 0), 0)
  }

  function arrive(session: SessionRef, id: string): Attendant {
    const place = placeOf(session, id)
    disarm(place)
    place.attendants += 1
    let isThere = true
    return {
      async leave(how) {
        if (!isThere) return
        isThere = false
        place.attendants -= 1
        if (place.attendants > 0) return
        if (!place.isOver && how === 'gone') return arm(id, place)
        if (!place.isOver) await write(id, place)
        forget(id, place)
      },
    }
  }

  return {
    arrive,
    checkRoom(sessionId) {
      if (attendantsIn(sessionId) < maxAttendants) return
      throw new HoldfastError('quota_exceeded', `${maxAttendants} clients may be at terminals of one session at a time`, {
        quota: 'executions_per_session',
        limit: maxAttendants,
      })
    },
    async comeBack(session, id) {
      const attendant = arrive(session, id)
      try {
        const place = places.get(id)
        if (place !== undefined) await write(id, place)
        return attendant
      } catch (error) {
        await attendant.leave('gone')
        throw error
      }
    },
    visit(id) {
      const place = places.get(id)
      return place === undefined || !place.isCommand || place.isOver ? null : arrive(place.session, id)
    },
    look(session, id) {
      placeOf(session, id).isOver = true
      return arrive(session, id)
    },
    ended(id) {
      const place = places.get(id)
      if (place === undefined) return
      place.isOver = true
      disarm(place)
      forget(id, place)
    },
    async recover() {
      for (const { id, session, by } of await store.read((sql) => attendedExecutions(sql, serverId))) {
        if (by === 'reader') continue
        const place = placeOf(session, id)
        place.isCommand = by === 'caller'
        arm(id, place)
      }
    },
    stop() {
      isStopped = true
      for (const place of places.values()) disarm(place)
    },
  }
}
