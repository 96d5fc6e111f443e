/**
 * Which addresses are on the public internet, and so may be called for a tenant.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * IPv4 is refused by a list of what is not public. IPv6 is accepted by the one range that is, less what in it stands for something else: so
 * mapped, translated and unique local addresses are refused without being named.
 */
import { BlockList, isIP } from 'node:net'
import { HoldfastError } from '@holdfast/protocol'

const NOT_PUBLIC_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24'],
  ...['192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24'],
  ...['203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
]
const PUBLIC_IPV6 = ['2000::/3']
/** Special purposes (Teredo among them), documentation, and 6to4, which reaches an IPv4 address of the sender's choice. */
const NOT_PUBLIC_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

export type IsAllowedAddress = (address: string) => boolean

/** `networks` such as `10.1.0.0/16` are allowed as well: the operator's word. Throws `config_invalid` for what is none. */
export function allowedAddresses(networks: readonly string[]): IsAllowedAddress {
  const refused4 = listOf(NOT_PUBLIC_IPV4)
  const public6 = listOf(PUBLIC_IPV6)
  const refused6 = listOf(NOT_PUBLIC_IPV6)
  const configured = listOf(networks)
  return (address) => {
    const family = isIP(address)
    if (family === 4) return configured.check(address, 'ipv4') || !refused4.check(address, 'ipv4')
    // A zone names an interface of this machine.
    if (family !== 6 || address.includes('%')) return false
    return configured.check(address, 'ipv6') || (public6.check(address, 'ipv6') && !refused6.check(address, 'ipv6'))
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/')
    const family = isIP(address)
    if (family === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128))
      throw new HoldfastError('config_invalid', `${network} is not a network such as 10.1.0.0/16`)
    list.addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}
