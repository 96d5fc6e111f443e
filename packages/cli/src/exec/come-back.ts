/**
 * The rest of a command whose server went away while it ran: the command runs on in its sandbox, and the next start of the server
 * gives its output from the byte where we were.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isHoldfastError } from '@holdfast/protocol/errors'
import type { Execution, Holdfast } from '@holdfast/sdk'
import { note } from '../failure.ts'
import { write } from '../output/print.ts'
import { commandEnd } from '../terminal/terminal-end.ts'

/** For how long a server that is being restarted is waited for. */
const RECONNECT_MS = 5 * 60_000
const RETRY_MS = 500

export interface Started {
  readonly sessionId: string
  readonly executionId: string
}

/** How a person finds it again. */
export function whereItIs({ sessionId, executionId }: Started): string {
  return `holdfast logs -f ${sessionId} ${executionId}`
}

/** `after`: the bytes of its output that were shown. Its exit code. */
export async function comeBack(holdfast: Holdfast, started: Started, after: number, signal: AbortSignal): Promise<number> {
  note(`the server went away; the command runs on, and its output follows when the server is back (\`${whereItIs(started)}\`)`)
  try {
    for await (const event of (await whenBack(holdfast, started, signal)).output({ after, signal, reconnectMs: RECONNECT_MS })) {
      if (event.type === 'gap') note(`${event.skippedBytes} bytes of its output are not kept any more`)
      else if (event.type === 'exit') return commandEnd(event.record, started)
      else await write(event.bytes, event.type === 'stdout' ? process.stdout : process.stderr)
    }
    throw new Error('the output of an execution ended without an exit')
  } catch (error) {
    if (!signal.aborted) note(`its end was not seen; \`${whereItIs(started)}\` shows it when the server is back`)
    throw error
  }
}

async function whenBack(holdfast: Holdfast, started: Started, signal: AbortSignal): Promise<Execution> {
  const until = Date.now() + RECONNECT_MS
  for (;;) {
    try {
      return await executionOf(holdfast, started)
    } catch (error) {
      if (!isAway(error) || Date.now() > until) throw error
      await delay(RETRY_MS, undefined, { signal })
    }
  }
}

/** A server that is being stopped, is not there, or has just started. */
export function isAway(error: unknown): boolean {
  return isHoldfastError(error) && ['server_unreachable', 'server_stopping'].includes(error.code)
}

export async function executionOf(holdfast: Holdfast, { sessionId, executionId }: Started): Promise<Execution> {
  return (await holdfast.sessions.get(sessionId)).commands.connect(executionId)
}
