/**
 * Why a socket was refused, as far as ordinary requests can tell: a WebSocket itself says nothing.
 *
 * The same address as an ordinary request is answered with what is wrong with the key, the session or the query; what is left is the
 * session's state.
 */
import type { SessionRecord as WireSession } from '@holdfast/protocol'
import { HoldfastError, isHoldfastError } from './errors.ts'
import { unreachable } from './transport/transport.ts'
import type { Transport } from './transport/transport.ts'

export interface SocketPlace {
  /** Below that of a session. */
  readonly path: string
  /** The subprotocol that is spoken there. */
  readonly protocol: string
  readonly query: Readonly<Record<string, string | number | undefined>>
}

export async function refusalOf(transport: Transport, { path, query }: Omit<SocketPlace, 'protocol'>): Promise<HoldfastError> {
  try {
    await transport.send({ path, query })
  } catch (error) {
    if (!isHoldfastError(error, 'upgrade_required')) return isHoldfastError(error) ? error : unreachable(transport.url, error)
  }
  try {
    const { state, held, closed_at: closedAt } = await transport.json<WireSession>({ path: sessionPath(path) })
    if (closedAt !== null || state === 'closing') return refused('session_closed', `the session is ${state}`)
    if (held !== null) return refused('session_held', 'an operator holds this session')
  } catch (error) {
    if (isHoldfastError(error)) return error
  }
  return unreachable(transport.url, new Error('the WebSocket could not be opened'))
}

function refused(code: string, message: string): HoldfastError {
  return new HoldfastError({ code, message, status: 409, retry: 'after-change', hint: 'Read the session: its state does not allow this.' })
}

function sessionPath(path: string): string {
  return path.split('/').slice(0, 4).join('/')
}
