/**
 * The headers of a request on its way to an app inside: the same for HTTP and for an upgrade.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * The app is asked as `localhost`, because that is the name by which development servers let themselves be asked. Who asks, and under which
 * name, is told by `X-Forwarded-*`, which only this server writes. What lets a caller in here is never passed on.
 */
import type { IncomingMessage } from 'node:http'
import { KEY_PROTOCOL_PREFIX } from '@holdfast/protocol'
import { hopByHop } from './hop-by-hop.ts'

const OURS = /^(?:x-)?holdfast-/
const FORWARDED = /^(?:x-forwarded-.*|forwarded|x-real-ip)$/
/** The server has answered it already. */
const DONE = new Set(['host', 'expect', 'http2-settings'])
const CREDENTIALS = new Set(['authorization', 'x-api-key'])
/** As `newKey` makes them. An app has credentials of its own, which a link passes on. */
const OUR_KEY = /\bhf_[\w-]{43}(?![\w-])/

export interface Inward {
  /** Whether credentials in it are for this server. */
  readonly isForUs: boolean
  readonly port: number
  /** What the app's paths begin with outside. */
  readonly prefix: string
  readonly scheme: string
  readonly clientAddress: string
}

export type HeaderFields = Record<string, string | string[]>

export function inwardHeaders(request: Pick<IncomingMessage, 'headers' | 'headersDistinct'>, way: Inward): HeaderFields {
  const { headers, headersDistinct } = request
  const { isForUs, port, prefix, scheme, clientAddress } = way
  // What a browser keeps for this host is that of others, on other ports of it too.
  const isForeignJar = isForUs && headers['sec-fetch-site'] !== undefined
  const isDropped = hopByHop(headersDistinct['connection'])
  const passed = new Map<string, string | string[]>()
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    if (isDropped(name) || DONE.has(name) || OURS.test(name) || FORWARDED.test(name)) continue
    if (CREDENTIALS.has(name) && (isForUs || values.some((value) => OUR_KEY.test(value)))) continue
    if (name === 'cookie' && isForeignJar) continue
    passed.set(name, values.length === 1 ? (values[0] ?? '') : values)
  }
  passed.delete('sec-websocket-protocol')
  const protocols = headersDistinct['sec-websocket-protocol']?.flatMap(withoutKeys) ?? []
  const inner = `localhost:${port}`
  const isOwnPage = headers.origin !== undefined && hostOf(headers.origin) === headers.host?.toLowerCase()
  return {
    ...Object.fromEntries(passed),
    host: inner,
    // Of another page it stays what it is, so that the app can refuse it.
    ...(isOwnPage ? { origin: `http://${inner}` } : {}),
    ...(protocols.length === 0 ? {} : { 'sec-websocket-protocol': protocols.join(', ') }),
    'x-forwarded-for': clientAddress,
    'x-forwarded-host': headers.host ?? '',
    'x-forwarded-proto': scheme,
    ...(prefix === '' ? {} : { 'x-forwarded-prefix': prefix }),
  }
}

function withoutKeys(list: string): string[] {
  return list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '' && !word.startsWith(KEY_PROTOCOL_PREFIX))
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null
}
