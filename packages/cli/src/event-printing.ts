/**
 * Events, one a line, as they are or as they come.
 */
import type { Holdfast, Session, SessionEvent } from '@holdfast/sdk'
import { note } from './failure.ts'
import type { ServerFlags } from './flags/server-flags.ts'
import { interruption } from './interruption.ts'
import { printPiece } from './output/print.ts'
import type { OutputFlags } from './output/print.ts'
import { isRecord, plainRead } from './plain-read.ts'

export interface EventFlags extends ServerFlags, OutputFlags {
  readonly follow?: true
}

const PAGE = 200
const onGap = () => note('older events are gone; these are those that came later')

/** Of one session: all that are kept, and with `follow` those to come. */
export async function printSessionEvents(session: Session, flags: EventFlags & { readonly after: number }): Promise<void> {
  const last = session.record.eventSeq
  if (flags.follow !== true && flags.after >= last) return
  const stop = interruption()
  try {
    for await (const event of session.events({ after: flags.after, onGap, signal: stop.signal })) {
      await printPiece(event, lineOf, flags)
      if (flags.follow !== true && event.seq >= last) return
    }
  } catch (error) {
    stop.settle(error)
  } finally {
    stop.end()
  }
}

/** Of all sessions that the caller may see. */
export async function printAllEvents(holdfast: Holdfast, flags: EventFlags & { readonly after?: string }): Promise<void> {
  const place = flags.follow === true && flags.after !== undefined ? flags.after : await printKept(flags)
  if (flags.follow !== true) return
  const stop = interruption()
  try {
    for await (const event of holdfast.events({ after: place, onGap, signal: stop.signal })) await printPiece(event, lineOf, flags)
  } catch (error) {
    stop.settle(error)
  } finally {
    stop.end()
  }
}

/** Page after page up to now; the place of the last one. */
async function printKept(flags: EventFlags & { readonly after?: string }): Promise<string> {
  let place = flags.after
  for (;;) {
    const { items } = await plainRead(flags, '/v1/events', { page_size: PAGE, ...(place === undefined ? {} : { after: place }) })
    if (!Array.isArray(items) || items.length === 0) return place ?? 'now'
    for (const item of items.filter(isRecord)) {
      place = text(item['id'])
      await printPiece(item, wireLineOf, flags)
    }
  }
}

function lineOf({ time, sessionId, type, from, to, reason, actor, data }: SessionEvent): string {
  return wireLineOf({ time, session_id: sessionId, type, from, to, reason, actor, data })
}

function wireLineOf(event: Readonly<Record<string, unknown>>): string {
  const { time, session_id: session, type, from, to, reason, actor, data } = event
  const change = typeof to === 'string' ? `${text(from) || 'nothing'} → ${to}` : ''
  const more = isRecord(data)
    ? Object.entries(data).map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    : []
  const by = isRecord(actor) ? text(actor['subject']) : ''
  return [text(time), text(session), text(type), change, text(reason), by === '' ? '' : `by ${by}`, ...more]
    .filter((part) => part !== '')
    .join('  ')
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
