/**
 * Who may speak to the Box door: the token, the instance, and the pages of a browser that may not.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Without a configured instance the first one that is let in stays the only one until the server stops. A client that names no instance is
 * one of the 0.4 generation; it is let in where neither a token nor an instance is configured.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { INSTANCE_HEADER, InstanceId, TOKEN_HEADER } from '@holdfast/protocol/box'
import { isHoldfastError } from '@holdfast/protocol'
import { checkOrigin } from '../../access/listen-address.ts'
import type { CheckHost } from '../../access/listen-address.ts'
import type { Log } from '../../telemetry/log.ts'

/** `null`: a client that knows no instances. */
export interface BoxPeer {
  readonly instance: string | null
}

export interface BoxCredentials {
  /** Who this is, or `null` for nobody. `pins`: an instance that is let in first is the only one from now on. */
  peerOf(request: IncomingMessage, options: { readonly pins: boolean }): BoxPeer | null
}

export interface BoxCredentialsNeeds {
  readonly token: string | null
  readonly instance: string | null
  readonly checkHost: CheckHost
  readonly allowedOrigins: ReadonlySet<string>
  readonly log: Log
}

export function createBoxCredentials({ token, instance, checkHost, allowedOrigins, log }: BoxCredentialsNeeds): BoxCredentials {
  const expected = token === null ? null : digestOf(token)
  let pinned = instance

  function isFromProgram({ headers: { host, origin } }: IncomingMessage): boolean {
    try {
      checkHost(host)
      checkOrigin(origin, host, allowedOrigins)
      return true
    } catch (error) {
      // Decision: a refusal is an answer here; anything else is a bug.
      if (isHoldfastError(error)) return false
      throw error
    }
  }

  /** Only the operator learns why. */
  function nobody(reason: string): null {
    log.debug('box-client-refused', { reason })
    return null
  }

  return {
    peerOf(request, { pins }) {
      if (!isFromProgram(request)) return nobody('the host or the origin is not one of ours')
      const named = request.headers[INSTANCE_HEADER]
      const isOpen = expected === null && instance === null
      if (named === undefined) return isOpen ? { instance: null } : nobody('it names no instance')
      const parsed = InstanceId.safeParse(named)
      if (!parsed.success) return nobody('its instance has no proper id')
      const shown = digestOf([request.headers[TOKEN_HEADER]].flat()[0] ?? '')
      if (expected !== null && !timingSafeEqual(expected, shown)) return nobody('its token is not ours')
      if (pinned === null && pins) pinned = parsed.data
      return pinned === parsed.data ? { instance: parsed.data } : nobody('another instance is served')
    },
  }
}

/** Of equal length whatever the token, so that comparing them tells nothing. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
