/**
 * What is said over a terminal's socket: its bytes both ways, and messages about it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Output is read from the terminal's log only as fast as the client takes it, so a slow client costs one piece of memory and is told what
 * it missed. Input is read from the socket only as fast as the program takes it. A socket that ends without a word leaves the
 * terminal waiting for its client; one that says `detach` leaves it running.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isHoldfastError, TerminalOrder } from '@holdfast/protocol'
import type { HoldfastError, TerminalMessage } from '@holdfast/protocol'
import type { RawData, WebSocket } from 'ws'
import type { Terminal } from '../../sessions/terminals.ts'
import { backlogs } from './backlog.ts'
import { CLOSE_FAILED, CLOSE_GOING_AWAY, CLOSE_NORMAL, CLOSE_POLICY } from './close-codes.ts'
import type { Conversation, Knock } from './socket-row.ts'
import { bytesOf, parseOrder, socketTalk } from './socket-talk.ts'
import { showOutput } from './terminal-output.ts'

/** For what was typed before a detach; a program that does not read does not keep its client. */
const LAST_WORDS_MS = 2_000

export function terminalConversation({ problemOf }: Pick<Knock, 'problemOf'>, terminal: Terminal, after: number): Conversation {
  let dismissed: ((reason: HoldfastError) => void) | null = null
  return {
    begin(socket, seen) {
      const talk = terminalTalk(socket, seen, problemOf, terminal)
      dismissed = (reason) => talk.fail(reason, CLOSE_POLICY)
      talk.begin(after)
    },
    abandon: () => void terminal.withdraw().catch(problemOf),
    dismiss: (reason) => dismissed?.(reason),
  }
}

function terminalTalk(socket: WebSocket, seen: () => void, problemOf: Knock['problemOf'], terminal: Terminal) {
  const { signal, send, say, close, fail, unlessOver, end } = socketTalk<TerminalMessage>({ socket, seen, problemOf })
  const [typing, ordering] = backlogs(socket)

  async function show(after: number): Promise<void> {
    const audience = { show: send, miss: (skippedBytes: number) => say({ type: 'gap', skipped_bytes: skippedBytes }) }
    await say({ type: 'started', execution_id: terminal.executionId, session: terminal.session, seq: after })
    await showOutput(terminal.output, after, audience, signal)
    if (signal.aborted) return
    const { exitCode, signal: killedBy, status, durationMs } = await terminal.ended
    await say({ type: 'exit', exit_code: exitCode, signal: killedBy, status, duration_ms: durationMs })
    close(CLOSE_NORMAL)
  }

  async function detach(): Promise<void> {
    const patience = new AbortController()
    await Promise.race([typing.done, delay(LAST_WORDS_MS, undefined, { signal: patience.signal }).catch(() => undefined)])
    patience.abort()
    await terminal.leave('detached')
    close(CLOSE_NORMAL)
  }

  async function obey(text: string): Promise<void> {
    const order = parseOrder(TerminalOrder, text)
    if (order.type === 'resize') await terminal.resize({ cols: order.cols, rows: order.rows }, signal)
    else if (order.type === 'signal') await terminal.signal(order.signal)
    else await detach()
  }

  function hear(data: RawData, isBinary: boolean): void {
    if (signal.aborted) return
    const bytes = bytesOf(data)
    if (isBinary) typing.add(bytes.length, () => terminal.write(bytes, signal).catch(unlessOver))
    else ordering.add(bytes.length, () => obey(bytes.toString('utf8')).catch(unlessOver))
  }

  return {
    fail,
    begin(after: number): void {
      socket.on('message', hear)
      socket.on('close', () => {
        end()
        terminal.leave('gone').catch(problemOf)
      })
      show(after).catch((reason: unknown) => {
        // The server lets go of it: it runs on, and can be come back to.
        if (isHoldfastError(reason, 'server_stopping')) close(CLOSE_GOING_AWAY)
        else fail(reason, CLOSE_FAILED)
      })
    },
  }
}
