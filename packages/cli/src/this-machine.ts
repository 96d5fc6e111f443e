/**
 * Whether an address is this machine: the key in its home is for its own server and is shown to no other.
 */
import { hostname, networkInterfaces } from 'node:os'

/** `known`: what the configuration calls it. */
export function isThisMachine(url: string, known: readonly (string | null)[]): boolean {
  if (!URL.canParse(url)) return false
  const host = bare(new URL(url).hostname)
  const own = Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => bare(address)))
  return ['localhost', '127.0.0.1', '::1', hostname().toLowerCase(), ...own, ...known.map((name) => bare(name ?? ''))].includes(host)
}

/** Without the brackets and the zone of an IPv6 address. */
function bare(host: string): string {
  return host.toLowerCase().replaceAll(/[[\]]/g, '').replace(/%.*$/, '')
}
