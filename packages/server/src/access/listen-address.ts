/**
 * Which addresses may be listened on, and which names a request may use for them.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * A web page can make a browser send requests to 127.0.0.1, under its own name (DNS rebinding) or from its own origin. So on
 * loopback the Host header has to be a loopback name, and a request that a browser sends for a page of another origin is refused.
 */
import { isIPv4 } from 'node:net'
import { HoldfastError } from '@holdfast/protocol'

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** Throws `config_invalid` for an address that would offer command execution to the network without a key. */
export function checkListenAddress(host: string, auth: 'key' | 'none'): void {
  if (auth === 'key' || isLoopback(host)) return
  throw new HoldfastError(
    'config_invalid',
    `refusing to listen on ${host} without a key: auth is none, which is allowed on loopback only`,
    { host },
  )
}

export type CheckHost = (hostHeader: string | undefined) => void

/** The check for a server that listens on `host`. A proxy in front of it passes on the name in `publicUrl`. */
export function hostCheck(host: string, publicUrl: string | null = null): CheckHost {
  if (!isLoopback(host)) return () => {}
  const publicName = publicUrl !== null && URL.canParse(publicUrl) ? hostName(new URL(publicUrl).host) : null
  return (header) => {
    const name = header === undefined ? '' : hostName(header)
    if (!isLoopback(name) && name !== publicName)
      throw new HoldfastError('host_refused', `this server answers to loopback names only, not to ${JSON.stringify(name.slice(0, 255))}`)
  }
}

function hostName(header: string): string {
  const bracketed = /^\[(.+)\](?::\d+)?$/.exec(header)?.[1]
  return (bracketed ?? header.replace(/:\d+$/, '')).toLowerCase()
}

const NO_ORIGINS: ReadonlySet<string> = new Set()

/** Throws `origin_refused` for a request that a browser sends on behalf of a page from elsewhere, unless the operator has named it. */
export function checkOrigin(
  originHeader: string | undefined,
  hostHeader: string | undefined,
  allowedOrigins: ReadonlySet<string> = NO_ORIGINS,
): void {
  if (originHeader === undefined || originOf(originHeader) === hostHeader?.toLowerCase() || allowedOrigins.has(originHeader)) return
  throw new HoldfastError('origin_refused', `pages from ${JSON.stringify(originHeader.slice(0, 255))} may not use this server`)
}

/** Host and port of an origin; `null`, which a browser sends for pages without one, is nobody. */
function originOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null
}
