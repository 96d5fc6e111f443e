/**
 * What is said over a process's socket: its stdout and stdin by bytes or by lines, and messages about it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Output is read from the log only as fast as the client takes it, so a slow client is told what it missed and holds nobody up. Input is
 * read from the socket only as fast as the program takes it, in turns with the other clients. Leaving leaves the process running.
 */
import { AttachOrder, isHoldfastError } from '@holdfast/protocol'
import type { AttachMessage, AttachMode } from '@holdfast/protocol'
import type { RawData, WebSocket } from 'ws'
import type { AttachedProcess } from '../../sessions/processes/attaching.ts'
import { backlogs } from './backlog.ts'
import { CLOSE_FAILED, CLOSE_GOING_AWAY, CLOSE_NORMAL, CLOSE_POLICY } from './close-codes.ts'
import { processFrames } from './process-frames.ts'
import type { Conversation, Knock } from './socket-row.ts'
import { bytesOf, parseOrder, socketTalk } from './socket-talk.ts'
import type { SocketTalk } from './socket-talk.ts'

/** On their way to one client. */
const WINDOW_BYTES = 1_048_576
const NEWLINE = 10

export function processConversation(
  { problemOf }: Pick<Knock, 'problemOf'>,
  attached: AttachedProcess,
  mode: AttachMode,
  after: number,
): Conversation {
  let talk: SocketTalk<AttachMessage> | null = null
  return {
    begin(socket, seen) {
      talk = socketTalk<AttachMessage>({ socket, seen, problemOf, windowBytes: WINDOW_BYTES })
      converse(socket, talk, attached, mode, after)
    },
    abandon: () => attached.leave(),
    dismiss: (reason) => talk?.fail(reason, CLOSE_POLICY),
  }
}

function converse(socket: WebSocket, talk: SocketTalk<AttachMessage>, attached: AttachedProcess, mode: AttachMode, after: number): void {
  const { signal, send, say, close, fail, unlessOver, end } = talk
  const [typing, ordering] = backlogs(socket)

  async function show(): Promise<void> {
    await say({ type: 'started', execution_id: attached.executionId, session: attached.session, seq: after })
    for await (const frame of processFrames(attached.output, after, mode, signal))
      await ('skippedBytes' in frame ? say({ type: 'gap', skipped_bytes: frame.skippedBytes }) : sendBytes(frame.bytes, frame.endsAt))
    if (signal.aborted) return
    const { exitCode, signal: killedBy, status, durationMs } = await attached.ended
    await say({ type: 'exit', exit_code: exitCode, signal: killedBy, status, duration_ms: durationMs })
    close(CLOSE_NORMAL)
  }

  async function sendBytes(bytes: Uint8Array, endsAt: number | null): Promise<void> {
    if (endsAt !== null) void say({ type: 'place', seq: endsAt })
    await send(bytes)
  }

  function write(bytes: Buffer): Promise<void> {
    const isWhole = mode === 'raw' || bytes.at(-1) === NEWLINE
    return attached.write(isWhole ? bytes : Buffer.concat([bytes, Buffer.of(NEWLINE)]), false, signal)
  }

  async function obey(text: string): Promise<void> {
    const order = parseOrder(AttachOrder, text)
    if (order.type === 'signal') return attached.signal(order.signal)
    // After everything that was written before it.
    typing.add(0, () => attached.write(Buffer.alloc(0), true, signal).catch(unlessOver))
  }

  socket.on('message', (data: RawData, isBinary) => {
    if (signal.aborted) return
    const bytes = bytesOf(data)
    if (isBinary) typing.add(bytes.length, () => write(bytes).catch(unlessOver))
    else ordering.add(bytes.length, () => obey(bytes.toString('utf8')).catch(unlessOver))
  })
  socket.on('close', () => {
    end()
    attached.leave()
  })
  show().catch((reason: unknown) => {
    // The server lets go of it: it runs on, and can be come back to.
    if (isHoldfastError(reason, 'server_stopping')) close(CLOSE_GOING_AWAY)
    else fail(reason, CLOSE_FAILED)
  })
}
