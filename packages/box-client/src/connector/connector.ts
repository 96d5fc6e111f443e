/**
 * The connector: keeps one connection to a Box server, and says why there is none.
 *
 * One loop, started once, is all that ever connects: attempt, hold, wait, again. So there are never two, and closing ends it wherever
 * it stands. A disabled connector opens nothing. What a host does when the connection comes and goes cannot break it.
 */
import { randomBytes } from 'node:crypto'
import { BoxError } from '@holdfast/protocol/box'
import { createBoxClient } from '../calls/box-client.ts'
import type { BoxClient } from '../calls/box-client.ts'
import { pause, systemClock } from '../clock.ts'
import type { BoxClock } from '../clock.ts'
import { isBoxEnabled } from '../enabled.ts'
import { reasonOf, silentLog } from '../log.ts'
import type { BoxLog } from '../log.ts'
import type { OpenTransport } from '../transports/transport.ts'
import { backoffMs } from './backoff.ts'
import { connect } from './connection.ts'
import type { Connection } from './connection.ts'
import { reach } from './target.ts'
import type { BoxTarget } from './target.ts'

export const DISABLED = 'the Box runtime is disabled (box.enabled is false)'
const NOT_STARTED = 'the Box runtime was not started'

export type ConnectorState = 'disabled' | 'idle' | 'connecting' | 'connected' | 'waiting' | 'closed'

export type ConnectorEvent =
  | { readonly type: 'connected' }
  | { readonly type: 'heartbeat' }
  | { readonly type: 'disconnected'; readonly reason: string }

export interface BoxConnectorOptions {
  readonly target: BoxTarget
  /** Of this host; a server serves one. */
  readonly instance: string
  readonly controlToken?: string | undefined
  /** `false` opens nothing; what `settings.enabled` says unless given. */
  readonly enabled?: boolean
  /** The section `box` of the host's settings; sent with every handshake, without `runtime`. */
  readonly settings?: Readonly<Record<string, unknown>>
  readonly clock?: BoxClock
  readonly log?: BoxLog
  readonly random?: () => number
  readonly newToken?: () => string
  /** Instead of the target's own. */
  readonly transport?: OpenTransport
}

export interface BoxConnector {
  readonly state: ConnectorState
  readonly isConnected: boolean
  readonly isEnabled: boolean
  /** Why there is no connection; `null` while there is one. */
  readonly reason: string | null
  /** Calls fail at once while there is no connection. */
  readonly client: BoxClient
  readonly relay: { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  /** Whether the server sees the files of this machine. */
  readonly sharesFiles: boolean
  /** Settles after the first attempt, whether it worked or not; further ones follow by themselves. */
  start(): Promise<void>
  /** Gives what ends it. */
  watch(listener: (event: ConnectorEvent) => void): () => void
  /** Settles when nothing is left of it. Sessions stay, unless the server is one that ends them with its input. */
  close(): Promise<void>
}

export function createBoxConnector(options: BoxConnectorOptions): BoxConnector {
  const {
    target,
    instance,
    controlToken,
    enabled = isBoxEnabled(options.settings ?? {}),
    clock = systemClock,
    log = silentLog,
    random = Math.random,
  } = options
  const { newToken = () => randomBytes(32).toString('hex') } = options
  const reached = reach(target, { instance, controlToken, newToken }, clock)
  const { runtime: _runtime, ...settings } = options.settings ?? {}
  const listeners = new Set<(event: ConnectorEvent) => void>()
  const stop = new AbortController()
  let state: ConnectorState = enabled ? 'idle' : 'disabled'
  let reason: string | null = enabled ? NOT_STARTED : DISABLED
  let current: Connection | undefined
  let first: Promise<void> | undefined
  let loop: Promise<void> = Promise.resolve()

  const tell = (event: ConnectorEvent) => {
    for (const listener of listeners) {
      try {
        listener(event)
      } catch (error) {
        log.warn('box: a listener failed', { event: event.type, reason: reasonOf(error) })
      }
    }
  }
  const needs = {
    ...{ clock, log, random, settings },
    onHeartbeat: () => tell({ type: 'heartbeat' }),
    open: options.transport ?? reached.open,
  }

  /** One attempt and what comes of it; gives whether there was a connection. */
  async function attempt(whenTried: () => void): Promise<boolean> {
    state = 'connecting'
    let connection: Connection
    try {
      connection = await connect(needs, stop.signal)
    } catch (error) {
      reason = reasonOf(error)
      return false
    }
    current = connection
    state = 'connected'
    reason = null
    log.info('box: connected')
    tell({ type: 'connected' })
    whenTried()
    const lost = await connection.ended
    current = undefined
    state = 'waiting'
    reason = lost
    if (stop.signal.aborted) log.info('box: closed')
    else log.warn('box: disconnected', { reason: lost })
    tell({ type: 'disconnected', reason: lost })
    await connection.close()
    return true
  }

  async function keepConnected(whenTried: () => void): Promise<void> {
    let failures = 0
    while (!stop.signal.aborted) {
      const wasConnected = await attempt(whenTried)
      if (wasConnected) failures = 0
      if (!stop.signal.aborted) state = 'waiting'
      whenTried()
      await pause(clock, backoffMs(failures), stop.signal)
      failures += 1
    }
  }

  return {
    get state() {
      return state
    },
    get isConnected() {
      return current !== undefined
    },
    isEnabled: enabled,
    get reason() {
      return reason
    },
    client: createBoxClient((action, data, callOptions) => {
      if (current !== undefined) return current.call(action, data, callOptions)
      return Promise.reject(new BoxError('BoxRuntimeUnavailableError', `${action} cannot be sent: ${reason}`))
    }),
    relay: { url: reached.relayUrl, headers: reached.headers },
    sharesFiles: !('endpoint' in target),
    start() {
      if (state === 'disabled' || state === 'closed') return Promise.resolve()
      if (first === undefined) {
        const tried = Promise.withResolvers<void>()
        first = tried.promise
        loop = keepConnected(tried.resolve)
      }
      return first
    },
    watch(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      stop.abort(new BoxError('BoxRuntimeUnavailableError', 'the connector was closed'))
      await current?.close()
      await loop
      if (state !== 'disabled') {
        state = 'closed'
        reason = 'the connector was closed'
      }
    },
  }
}
