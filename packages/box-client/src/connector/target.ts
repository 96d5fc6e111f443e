/**
 * Where a host's Box server is: a command that is started, or an address. Gives the transport and the address of the relay.
 */
import { ControlToken, INSTANCE_HEADER, InstanceId, TOKEN_HEADER } from '@holdfast/protocol/box'
import type { BoxClock } from '../clock.ts'
import { checked } from '../checked.ts'
import { boxEndpoint } from '../transports/endpoint.ts'
import { stdioTransport } from '../transports/stdio-transport.ts'
import type { StdioCommand } from '../transports/stdio-transport.ts'
import type { OpenTransport } from '../transports/transport.ts'
import { webSocketTransport } from '../transports/web-socket-transport.ts'

const LOCAL_RELAY = 'http://127.0.0.1:5410'

/** The command's `relayUrl` is where its HTTP port will be; 5410 on this machine unless given. */
export type BoxTarget = { readonly endpoint: string } | (StdioCommand & { readonly relayUrl?: string })

export interface Reach {
  readonly open: OpenTransport
  /** Without a path. */
  readonly relayUrl: string
  /** That a handshake must show. */
  readonly headers: Readonly<Record<string, string>>
}

export interface Identity {
  readonly instance: string
  readonly controlToken: string | undefined
  /** For a server that is started here and was given none. */
  readonly newToken: () => string
}

export function reach(target: BoxTarget, { instance, controlToken, newToken }: Identity, clock: BoxClock): Reach {
  checked(InstanceId, instance, 'instance')
  if (controlToken !== undefined) checked(ControlToken, controlToken, 'controlToken')
  if ('endpoint' in target) {
    const { rpcUrl, relayUrl } = boxEndpoint(target.endpoint)
    const headers = { [INSTANCE_HEADER]: instance, ...(controlToken === undefined ? {} : { [TOKEN_HEADER]: controlToken }) }
    return { open: webSocketTransport({ url: rpcUrl, headers }), relayUrl, headers }
  }
  const token = controlToken ?? newToken()
  const env = { ...target.env, LANGBOT_BOX_TRUSTED_INSTANCE_UUID: instance, LANGBOT_BOX_CONTROL_TOKEN: token }
  return {
    open: stdioTransport({ ...target, env }, clock),
    relayUrl: target.relayUrl ?? LOCAL_RELAY,
    headers: { [INSTANCE_HEADER]: instance, [TOKEN_HEADER]: token },
  }
}
