/**
 * Where a request comes from, as far as that can be known.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * The peer of the connection; or, if that is a proxy the operator trusts, the last address in X-Forwarded-For that is not one. Whatever stands
 * before that was written by the client and is worth nothing.
 */
import { BlockList, isIP, isIPv6 } from 'node:net'
import { HoldfastError } from '@holdfast/protocol'

export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string

/** Said of a peer that has no address, as on a unix socket. */
export const UNKNOWN_ADDRESS = 'unknown'

/** `trusted`: addresses and networks such as `10.0.0.5` or `10.0.0.0/8`. Throws `config_invalid` for what is neither. */
export function clientAddresses(trusted: readonly string[]): ClientAddress {
  const proxies = new BlockList()
  for (const entry of trusted) addTo(proxies, entry)
  const isProxy = (address: string) => proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  return (peer, forwardedFor) => {
    const direct = plain(peer)
    if (trusted.length === 0 || forwardedFor === undefined || !isProxy(direct)) return direct
    let last = direct
    for (const entry of forwardedFor.split(',').toReversed()) {
      const address = plain(entry.trim())
      // A hop that cannot be read ends what is known.
      if (address === UNKNOWN_ADDRESS) return last
      if (!isProxy(address)) return address
      last = address
    }
    return last
  }
}

/** Whose attempts are counted together: an IPv4 address, or the network of 64 bits that one holder of IPv6 addresses has at least. */
export function neighbourhood(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::')
  const [before, after] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''))
  const missing = address.includes('::') ? 8 - (before?.length ?? 0) - (after?.length ?? 0) : 0
  const groups = [...(before ?? []), ...Array.from({ length: Math.max(0, missing) }, () => '0'), ...(after ?? [])]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')}::/64`
}

/** Without the clothes that IPv4 wears on a socket for both. */
function plain(address: string | undefined): string {
  if (address === undefined || isIP(address) === 0) return UNKNOWN_ADDRESS
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

function addTo(list: BlockList, entry: string): void {
  const [address = '', prefix] = entry.split('/')
  const family = isIP(address)
  const bits = family === 4 ? 32 : 128
  const size = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : 999
  if (family === 0 || size > bits)
    throw new HoldfastError('config_invalid', `trusted_proxies: ${entry} is neither an address nor a network such as 10.0.0.0/8`)
  list.addSubnet(address, size, family === 4 ? 'ipv4' : 'ipv6')
}
