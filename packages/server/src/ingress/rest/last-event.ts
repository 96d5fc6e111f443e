/**
 * Where a reader goes on who was there before: the header `Last-Event-ID`, which browsers send by themselves.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Visit } from './route.ts'

export function lastEventNumber(visit: Pick<Visit, 'header'>): number | null {
  const text = visit.header('last-event-id') ?? ''
  if (text === '') return null
  if (!/^\d{1,15}$/.test(text)) throw new HoldfastError('invalid_request', 'Last-Event-ID: must be a whole number')
  return Number(text)
}

export function lastEventId(visit: Pick<Visit, 'header'>): string | null {
  const text = visit.header('last-event-id') ?? ''
  if (text === '') return null
  if (!/^evt_\w{1,60}$/.test(text)) throw new HoldfastError('invalid_request', 'Last-Event-ID: must be the id of an event')
  return text
}
