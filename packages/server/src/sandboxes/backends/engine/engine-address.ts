/**
 * Where a container engine listens: a unix socket of this host, or TCP.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Accepts what `DOCKER_HOST` and `CONTAINER_HOST` hold, and a bare absolute path.
 */
import { HoldfastError } from '@holdfast/protocol'

export type EngineAddress =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }

const PLAIN_TCP_PORT = 2375

/** Throws `invalid_request` for an address that is neither `unix://` nor `tcp://`. */
export function parseEngineAddress(text: string): EngineAddress {
  if (text.startsWith('/')) return { kind: 'unix', path: text }
  if (text.startsWith('unix://')) {
    const path = text.slice('unix://'.length)
    if (!path.startsWith('/')) throw refused(text, 'a unix:// address needs an absolute path, as in unix:///var/run/docker.sock')
    return { kind: 'unix', path }
  }
  if (text.startsWith('tcp://')) {
    // The URL class knows no ports or hosts of unknown schemes, so the address borrows one that it does know.
    const url = URL.parse(`http://${text.slice('tcp://'.length)}`)
    if (url === null || url.hostname === '') throw refused(text, 'a tcp:// address needs a host, as in tcp://127.0.0.1:2375')
    return { kind: 'tcp', host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || PLAIN_TCP_PORT }
  }
  throw refused(text, 'only unix:// and tcp:// are understood')
}

/** As people write it. */
export function formatEngineAddress(address: EngineAddress): string {
  return address.kind === 'unix' ? `unix://${address.path}` : `tcp://${address.host}:${address.port}`
}

function refused(text: string, why: string): HoldfastError {
  return new HoldfastError('invalid_request', `the engine address '${text}' is not usable: ${why}`, { address: text })
}
