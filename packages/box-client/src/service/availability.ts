/**
 * Whether a sandbox can be had, and if not, why: the connection and the server's backend, as one answer.
 *
 * The backend is asked for when the connection comes, with every heartbeat and with every look at the status. A backend that is away
 * for a while makes the service unavailable and leaves the connection alone.
 */
import type { BoxBackendInfo } from '@holdfast/protocol/box'
import type { BoxConnector } from '../connector/connector.ts'
import { reasonOf } from '../log.ts'

const NO_BACKEND = 'No supported sandbox backend is available'

export type Availability = { readonly available: true; readonly reason: null } | { readonly available: false; readonly reason: string }

const NOT_ASKED: Availability = { available: false, reason: 'the sandbox backend was not asked for yet' }

export interface AvailabilityWatch {
  /** What is known now. */
  readonly known: Availability
  /** Asks the server, once for all who ask meanwhile; never rejects. */
  ask(): Promise<Availability>
  /** Takes what the server said on another occasion. */
  learn(backend: BoxBackendInfo | null | undefined): Availability
  close(): void
}

type Connected = Pick<BoxConnector, 'isConnected' | 'reason' | 'client' | 'watch'>

export function watchAvailability(connector: Connected): AvailabilityWatch {
  let backend: Availability = NOT_ASKED
  let asking: Promise<Availability> | undefined
  const known = (): Availability =>
    connector.isConnected ? backend : { available: false, reason: connector.reason ?? 'the Box runtime is not connected' }
  const learn = (info: BoxBackendInfo | null | undefined) => (backend = availabilityOf(info))

  async function askServer(): Promise<Availability> {
    if (!connector.isConnected) return known()
    try {
      return learn(await connector.client.backendInfo())
    } catch (error) {
      // Decision: what cannot say that it works does not work; the connection is judged by its heartbeat alone.
      backend = { available: false, reason: reasonOf(error) }
      return known()
    }
  }

  function ask(): Promise<Availability> {
    asking ??= askServer().finally(() => (asking = undefined))
    return asking
  }

  const stop = connector.watch(({ type }) => {
    // What another server said is not known of the next one.
    if (type === 'disconnected') backend = NOT_ASKED
    else void ask()
  })
  return {
    get known() {
      return known()
    },
    ask,
    learn,
    close: stop,
  }
}

export function availabilityOf(backend: BoxBackendInfo | null | undefined): Availability {
  if (backend?.available === true) return { available: true, reason: null }
  const name = backend?.name ?? ''
  return { available: false, reason: name === '' ? NO_BACKEND : `Configured sandbox backend "${name}" is unavailable` }
}
