/**
 * `/v1/sessions/{id}/events` and `/v1/events`: what happened, as pages or as a stream that goes on.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A cursor behind which events are gone is 410 before a stream begins; it is never passed over in silence.
 */
import { SessionEventsPage, SessionEventsQuery, TenantEventsPage, TenantEventsQuery } from '@holdfast/protocol'
import type { SessionEvent } from '@holdfast/protocol'
import type { EventReader, EventStart, FollowedEvents } from '../../sessions/events/read-events.ts'
import { encodeEvent, followedStream, wantsEvents } from './event-stream.ts'
import { lastEventId, lastEventNumber } from './last-event.ts'
import { OneId } from './paths.ts'
import { json, route } from './route.ts'
import type { Route, Visit } from './route.ts'

export function eventRoutes({ events }: { readonly events: EventReader }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/events',
      summary: 'Read the events of a session in order; as a stream also those to come',
      authorization: 'read',
      params: OneId,
      query: SessionEventsQuery,
      answers: {
        200: json('SessionEventPage', SessionEventsPage, 'Every event after the cursor', 'each event by its type, with its seq as id'),
      },
      errors: ['not_found', 'cursor_expired'],
      async handle(call) {
        const { visibility } = call.caller
        const { id } = call.params
        if (!wantsEvents(call)) {
          const items = await events.readSession(visibility, id, call.query.after, call.query.page_size)
          return { status: 200, body: { items: [...items], after: items.at(-1)?.seq ?? call.query.after } }
        }
        const after = lastEventNumber(call) ?? call.query.after
        await events.readSession(visibility, id, after, 1)
        return relay(call, (signal) => events.followSession(visibility, id, after, signal), bySeq)
      },
    }),
    route({
      method: 'GET',
      path: '/v1/events',
      summary: 'Read the events of the tenant that the caller may see; as a stream also those to come',
      authorization: 'list',
      query: TenantEventsQuery,
      answers: { 200: json('TenantEventPage', TenantEventsPage, 'Events after the cursor', 'each event by its type, with its id') },
      errors: ['cursor_expired'],
      async handle(call) {
        const { visibility } = call.caller
        const { after, page_size: size } = call.query
        if (!wantsEvents(call)) {
          const items = await events.readTenant(visibility, startOf(after), size)
          return { status: 200, body: { items: [...items], after: items.at(-1)?.id ?? after ?? null } }
        }
        const start = startOf(lastEventId(call) ?? after)
        await events.readTenant(visibility, start, 1)
        return relay(call, (signal) => events.followTenant(visibility, start, signal), byId)
      },
    }),
  ]
}

function startOf(after: string | undefined): EventStart {
  if (after === undefined) return 'oldest'
  return after === 'now' ? 'now' : { after }
}

type Encode = (event: SessionEvent) => Uint8Array

/** Followers share the objects of events, so each event is encoded once for all of them. */
function encodedOnce(cursorOf: (event: SessionEvent) => string | number): Encode {
  const known = new WeakMap<SessionEvent, Uint8Array>()
  return (event) => {
    const bytes = known.get(event) ?? encodeEvent({ id: cursorOf(event), event: event.type, data: event })
    known.set(event, bytes)
    return bytes
  }
}

const bySeq = encodedOnce(({ seq }) => seq)
const byId = encodedOnce(({ id }) => id)

function relay(visit: Visit, follow: (signal: AbortSignal) => FollowedEvents, encode: Encode): Response {
  return followedStream(visit, async (stream, signal) => {
    for await (const [first, ...rest] of follow(signal).pages()) {
      if (first === undefined) continue
      await stream.sendEncoded(rest.length === 0 ? encode(first) : Buffer.concat([first, ...rest].map(encode)))
    }
  })
}
