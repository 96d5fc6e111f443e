/**
 * The headers of an app's answer on their way out: made to fit the address that the client used.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Whatever an app says is said under the origin of the API where it is reached below `/preview/`. So there its pages are put into a sandbox of
 * the browser's without an origin, and what would speak for the whole origin is dropped.
 */
import type { IncomingMessage } from 'node:http'
import { hopByHop } from './hop-by-hop.ts'
import type { HeaderFields } from './inward-headers.ts'

/** They speak for the host as a whole, on which other things are served too. */
const FOR_A_WHOLE_HOST = new Set([
  ...['clear-site-data', 'strict-transport-security', 'nel', 'report-to', 'reporting-endpoints', 'service-worker-allowed'],
  ...['public-key-pins', 'origin-agent-cluster'],
])

export interface Outward {
  readonly port: number
  /** What the app's paths begin with outside; empty where it has a host of its own. */
  readonly prefix: string
  readonly requestId: string
}

export function outwardHeaders({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>, way: Outward): HeaderFields {
  const { port, prefix, requestId } = way
  const hasOwnHost = prefix === ''
  const isDropped = hopByHop(headersDistinct['connection'])
  const passed: HeaderFields = { 'x-request-id': requestId }
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    if (isDropped(name) || name === 'alt-svc' || (!hasOwnHost && FOR_A_WHOLE_HOST.has(name))) continue
    passed[name] = values.length === 1 ? (values[0] ?? '') : values
  }
  const { location, 'set-cookie': cookies } = headersDistinct
  if (location !== undefined) passed['location'] = location.map((place) => fittedPlace(place, port, prefix))[0] ?? ''
  if (cookies !== undefined) passed['set-cookie'] = cookies.map((cookie) => fittedCookie(cookie, prefix))
  if (!hasOwnHost) {
    passed['content-security-policy'] = ['sandbox', ...(headersDistinct['content-security-policy'] ?? [])]
    passed['x-content-type-options'] = 'nosniff'
  } else if (headersDistinct['referrer-policy'] === undefined) {
    // The host is what lets its holder in, and no other site's business.
    passed['referrer-policy'] = 'same-origin'
  }
  return passed
}

/** An app names itself as it was asked; the client knows it by another name. */
export function fittedPlace(place: string, port: number, prefix: string): string {
  const inner = new RegExp(`^https?://(?:localhost|127\\.0\\.0\\.1|0\\.0\\.0\\.0|\\[::1?\\]):${port}(?=[/?#]|$)`, 'i').exec(place)?.[0]
  const path = inner === undefined ? place : place.slice(inner.length)
  if (inner === undefined && (!path.startsWith('/') || path.startsWith('//'))) return place
  // One that knows its prefix has said so already.
  if (prefix !== '' && inner === undefined && (path === prefix || path.startsWith(`${prefix}/`))) return place
  const rooted = path.startsWith('/') ? path : `/${path}`
  // Two slashes would begin the name of a host.
  return `${prefix}${prefix === '' ? rooted.replace(/^\/+/, '/') : rooted}`
}

function fittedCookie(cookie: string, prefix: string): string {
  const [pair = '', ...attributes] = cookie.split(';')
  const kept = attributes.filter((attribute) => !/^\s*domain\s*(?:=|$)/i.test(attribute))
  if (prefix === '') return [pair, ...kept].join(';')
  // Cookies of one app are sent to no other.
  const path = kept.map((attribute) => /^\s*path\s*=\s*(\/[^;]*)$/i.exec(attribute)?.[1]).findLast((each) => each !== undefined) ?? '/'
  const fitted = path.startsWith(`${prefix}/`) ? path : `${prefix}${path}`
  return [pair, ...kept.filter((attribute) => !/^\s*path\s*(?:=|$)/i.test(attribute)), ` Path=${fitted}`].join(';')
}
