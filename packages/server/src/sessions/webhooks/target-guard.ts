/**
 * Where a webhook may go: http or https, to an address that is allowed.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A name is resolved and judged inside the connection itself (`lookup`), so that the address that was judged is the one
 * that is called. A name that changes its address between check and use gains nothing.
 */
import { lookup as lookupName } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { HoldfastError } from '@holdfast/protocol'
import type { IsAllowedAddress } from './public-address.ts'

const MAXIMUM_URL_LENGTH = 2048
const LOOPBACK = ['127.0.0.1', '::1']
/** Reserved by RFC 6761: these names lead to this machine, whatever a resolver says. */
const isLoopbackName = (host: string) => /(^|\.)localhost\.?$/.test(host)

export interface TargetGuard {
  /** Throws `invalid_request` for an address that can never be called. A name is judged when it is called. */
  check(url: string): URL
  /** For `node:http` and `node:https`: an error when any address of the name is not allowed. */
  readonly lookup: LookupFunction
}

export function targetGuard(isAllowed: IsAllowedAddress): TargetGuard {
  return {
    check(text) {
      const url = URL.canParse(text) ? new URL(text) : null
      if (url === null || text.length > MAXIMUM_URL_LENGTH) throw refused('must be an address of at most 2048 characters')
      if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused(`must begin with https:// or http://, not ${url.protocol}`)
      if (url.username !== '' || url.password !== '') throw refused('must not contain a user name or password')
      // Node connects to a literal address without a lookup.
      const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
      const addresses = isIP(host) !== 0 ? [host] : isLoopbackName(host) ? LOOPBACK : []
      if (addresses.length > 0 && !addresses.some(isAllowed))
        throw refused(`must not lead to ${host}, which is not a public address; an operator can allow it with webhooks.allowed_networks`)
      return url
    },

    lookup(hostname, options, callback) {
      lookupName(hostname, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return callback(error, '')
        const [first] = addresses
        if (first === undefined || !addresses.every(({ address }) => isAllowed(address)))
          return callback(new Error(`${hostname} does not lead to a public address`), '')
        if (options.all === true) callback(null, addresses)
        else callback(null, first.address, first.family)
      })
    },
  }
}

function refused(problem: string): HoldfastError {
  return new HoldfastError('invalid_request', `url: ${problem}`, { problems: [{ field: 'url', problem }] })
}
