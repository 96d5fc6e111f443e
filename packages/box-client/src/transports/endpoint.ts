/**
 * Where a remote Box server is: the address a host writes down, and the two addresses made of it.
 */
import { BoxError } from '@holdfast/protocol/box'

const DEFAULT_PORT = '5410'
const RPC_PATH = '/rpc/ws'
const SCHEMES: Readonly<Record<string, { readonly socket: string; readonly web: string }>> = {
  'ws:': { socket: 'ws:', web: 'http:' },
  'http:': { socket: 'ws:', web: 'http:' },
  'wss:': { socket: 'wss:', web: 'https:' },
  'https:': { socket: 'wss:', web: 'https:' },
}

export interface BoxEndpoint {
  /** Of the calls; the path is always the same. */
  readonly rpcUrl: string
  /** Of the relay to managed processes, without a path. */
  readonly relayUrl: string
}

/** `http` becomes `ws`, `https` becomes `wss`; without a scheme it is `ws`, without a port 5410. */
export function boxEndpoint(address: string): BoxEndpoint {
  const text = address.trim()
  const whole = text.includes('://') ? text : `ws://${text}`
  const url = URL.parse(whole)
  const scheme = SCHEMES[url?.protocol ?? '']
  if (url === null || scheme === undefined || url.hostname === '') {
    throw new BoxError('BoxValidationError', `runtime.endpoint must be an address such as http://box:${DEFAULT_PORT}, not "${address}"`)
  }
  const host = `${url.hostname}:${url.port === '' ? writtenPort(whole) : url.port}`
  return { rpcUrl: `${scheme.socket}//${host}${RPC_PATH}`, relayUrl: `${scheme.web}//${host}` }
}

// A URL forgets a port that is its scheme's own, and `http://box:80` must not become 5410.
function writtenPort(address: string): string {
  return /^[a-z]+:\/\/(?:[^/?#]*@)?(?:\[[^\]@]*\]|[^/?#:@]*):(?<port>\d+)/i.exec(address)?.groups?.['port'] ?? DEFAULT_PORT
}
