/**
 * One connection to a Box server, from the open transport to its end: the handshake, the calls, the heartbeat.
 *
 * The handshake is a ping and the settings; without both within 30 s there is no connection, and nothing is left of the attempt.
 */
import { BoxError, DEFAULT_CALL_SECONDS } from '@holdfast/protocol/box'
import { createRpc } from '../calls/rpc.ts'
import type { Call, Rpc } from '../calls/rpc.ts'
import type { BoxClock } from '../clock.ts'
import type { BoxLog } from '../log.ts'
import type { BoxTransport, OpenTransport } from '../transports/transport.ts'
import { FAILURES_UNTIL_LOST, keepAsking } from './heartbeat.ts'

const HANDSHAKE_MS = 30_000
const CALL_MS = DEFAULT_CALL_SECONDS * 1000
/** Calls are numbered from a random number below it, as in other clients. */
const FIRST_NUMBERS = 100_000

export interface ConnectionNeeds {
  readonly open: OpenTransport
  readonly clock: BoxClock
  readonly log: BoxLog
  /** At least 0, below 1. */
  readonly random: () => number
  /** For `box_init`, which is left out when there is nothing to say. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly onHeartbeat: () => void
}

export interface Connection {
  readonly call: Call
  /** Why it is over. Never rejects. */
  readonly ended: Promise<string>
  /** Settles when nothing is left of it. */
  close(): Promise<void>
}

export async function connect(needs: ConnectionNeeds, signal: AbortSignal): Promise<Connection> {
  const { open, clock, settings } = needs
  signal.throwIfAborted()
  const attempt = new AbortController()
  const giveUp = () => attempt.abort(signal.reason)
  signal.addEventListener('abort', giveUp, { once: true })
  const cancel = clock.after(HANDSHAKE_MS, () => attempt.abort(tooSlow()))
  let transport: BoxTransport | undefined
  try {
    // A server speaks only when it is spoken to.
    let receive = (_message: string) => {}
    transport = await open((message) => receive(message), attempt.signal)
    const { rpc, lost } = callsOver(transport, needs)
    receive = rpc.receive
    await rpc.call('__ping', {}, { timeoutMs: CALL_MS, signal: attempt.signal })
    if (Object.keys(settings).length > 0) await rpc.call('box_init', settings, { timeoutMs: CALL_MS, signal: attempt.signal })
    return keptAlive(transport, rpc, lost, needs)
  } catch (error) {
    await transport?.close()
    throw error
  } finally {
    cancel()
    signal.removeEventListener('abort', giveUp)
  }
}

function callsOver(
  transport: BoxTransport,
  { clock, log, random }: ConnectionNeeds,
): { readonly rpc: Rpc; readonly lost: Promise<string> } {
  const broken = Promise.withResolvers<string>()
  const rpc = createRpc({ transport, clock, log, firstNumber: Math.floor(random() * FIRST_NUMBERS), onBroken: broken.resolve })
  const lost = Promise.race([transport.ended, broken.promise])
  void lost.then(rpc.end)
  return { rpc, lost }
}

function keptAlive(transport: BoxTransport, rpc: Rpc, lost: Promise<string>, { clock, onHeartbeat }: ConnectionNeeds): Connection {
  const over = new AbortController()
  const closed = Promise.withResolvers<string>()
  const ask = async () => {
    const before = rpc.heard()
    await rpc.call('__ping', {}, { timeoutMs: CALL_MS }).catch(() => {})
    return rpc.heard() > before
  }
  const silent = keepAsking({ clock, ask, onAnswer: onHeartbeat }, over.signal).then(
    () => `no answer to ${FAILURES_UNTIL_LOST} heartbeats in a row`,
  )
  const ended = Promise.race([closed.promise, lost, silent])
  void ended.then((reason) => {
    over.abort()
    rpc.end(reason)
  })
  return {
    call: rpc.call,
    ended,
    async close() {
      closed.resolve('this side closed it')
      await transport.close()
    },
  }
}

function tooSlow(): BoxError {
  return new BoxError('BoxRuntimeUnavailableError', `the Box server did not finish the handshake within ${HANDSHAKE_MS / 1000} s`)
}
