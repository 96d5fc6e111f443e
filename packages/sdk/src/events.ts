/**
 * What happened to sessions, in order, over as many connections as it takes.
 *
 * Nothing is left out in silence: when events after the present place are gone, that is an error, or told to whoever asked for it.
 */
import type { SessionEvent as WireEvent } from '@holdfast/protocol'
import type { StreamOptions } from './call-options.ts'
import { isHoldfastError } from './errors.ts'
import type { HoldfastError } from './errors.ts'
import { parsed } from './exec.ts'
import { follow } from './transport/follow.ts'
import { linkedSignal } from './transport/patience.ts'
import type { Transport } from './transport/transport.ts'
import { camel } from './wire-names.ts'

export interface SessionEvent {
  /** Unique; also the place among the events of all sessions. */
  readonly id: string
  /** Such as `session.suspended` or `execution.ended`. */
  readonly type: string
  readonly time: string
  readonly tenantId: string
  readonly sessionId: string
  /** Counts the events of this session from 1, without gaps; also the place among them. */
  readonly seq: number
  /** The session's version after the change. */
  readonly version: number
  readonly incarnation: number
  readonly sandboxId: string | null
  /** The state before and after; both `null` where the state did not change. */
  readonly from: string | null
  readonly to: string | null
  readonly reason: string | null
  readonly actor: { readonly type: 'user' | 'service' | 'system'; readonly subject: string; readonly via: string | null }
  readonly deadlines: {
    readonly idleAt: string | null
    readonly leaseAt: string | null
    readonly lifetimeAt: string | null
    readonly expiresAt: string | null
  }
  /** What belongs to this type only, as it is on the wire. */
  readonly data: Readonly<Record<string, unknown>>
}

export interface EventOptions<Place> extends StreamOptions {
  /** The place of the last event you have, or `now`. Left out: from the oldest on. */
  readonly after?: Place | 'now' | undefined
  /**
   * When events after the place are gone: fail with `cursor_expired`, which is the default; or go on with those to come. A function is
   * told of the gap first, to read the session anew.
   */
  readonly onGap?: 'throw' | 'resume' | ((gap: HoldfastError) => void | Promise<void>) | undefined
}

interface EventSource<Place extends string | number> {
  readonly transport: Transport
  readonly path: string
  placeOf(event: SessionEvent): Place
  /** Where those to come begin; `null` for nowhere else than here. */
  now(): Promise<Place | 'now'>
  /** Where to go on after a gap, from what the refusal says. */
  resume(gap: HoldfastError): Place | 'now'
  readonly letGo?: AbortSignal
}

export async function* followEvents<Place extends string | number>(
  { transport, path, placeOf, now, resume, letGo }: EventSource<Place>,
  { after, onGap = 'throw', signal, reconnectMs }: EventOptions<Place>,
): AsyncGenerator<SessionEvent, void, void> {
  const linked = linkedSignal(signal, letGo)
  const bounds = { signal: linked.signal, ...(reconnectMs === undefined ? {} : { reconnectMs }) }
  try {
    let place: Place | 'now' | undefined = after === 'now' ? await now() : after
    for (;;) {
      try {
        for await (const { data } of follow(transport, { ...bounds, request: () => ({ path, query: { after: place } }) })) {
          const event = sessionEvent(parsed<WireEvent>(data))
          place = placeOf(event)
          yield event
        }
      } catch (error) {
        if (!isHoldfastError(error, 'cursor_expired') || onGap === 'throw') throw error
        if (typeof onGap === 'function') await onGap(error)
        place = resume(error)
      }
    }
  } catch (error) {
    // Whoever let go of the session wants no more events, and no error either.
    if (letGo?.aborted !== true || signal?.aborted === true) throw error
  } finally {
    linked.end()
  }
}

function sessionEvent(wire: WireEvent): SessionEvent {
  return { ...camel(wire), deadlines: camel(wire.deadlines) }
}
