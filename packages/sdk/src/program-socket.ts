/**
 * One connection to a program, on a terminal or as a named process, from its opening to its end.
 *
 * A WebSocket tells nobody why it was refused; that is asked for afterwards.
 */
import type { AttachMessage, AttachOrder, TerminalMessage, TerminalOrder } from '@holdfast/protocol'
import { commandExit } from './command-result.ts'
import type { CommandExit } from './command-result.ts'
import { isHoldfastError } from './errors.ts'
import type { HoldfastError } from './errors.ts'
import { parsed } from './exec.ts'
import { promised } from './promised.ts'
import { refusalOf } from './socket-refusal.ts'
import type { SocketPlace } from './socket-refusal.ts'
import { errorOfProblem } from './transport/problem.ts'
import { unreachable } from './transport/transport.ts'
import type { Transport } from './transport/transport.ts'

export interface ProgramListener {
  onStarted(executionId: string, seq: number): void
  onGap(skippedBytes: number): void
  /** Where the next bytes end. */
  onPlace(seq: number): void
  onBytes(bytes: Uint8Array): void
}

export type Order = TerminalOrder | AttachOrder

/** How a connection ended. `left`: it was closed from here, or the server let go as it was told. */
export type ConnectionEnd =
  | { readonly how: 'exit'; readonly exit: CommandExit }
  | { readonly how: 'left' }
  | { readonly how: 'broken'; readonly error: HoldfastError }

export interface ProgramSocket {
  readonly ended: Promise<ConnectionEnd>
  /** Bytes that are not sent yet. */
  readonly waiting: number
  write(bytes: Uint8Array<ArrayBuffer>): void
  order(order: Order): void
  close(): void
}

const NORMAL = 1000

export function openProgramSocket(transport: Transport, place: SocketPlace, listener: ProgramListener): ProgramSocket {
  const socket = transport.socket(place.path, place.query, place.protocol)
  socket.binaryType = 'arraybuffer'
  const ended = promised<ConnectionEnd>()
  let executionId = ''
  let isLeaving = false

  function take(message: TerminalMessage | AttachMessage): void {
    if (message.type === 'started') {
      executionId = message.execution_id
      listener.onStarted(executionId, message.seq)
    } else if (message.type === 'gap') listener.onGap(message.skipped_bytes)
    else if (message.type === 'place') listener.onPlace(message.seq)
    else if (message.type === 'exit') ended.resolve({ how: 'exit', exit: commandExit({ ...message, execution_id: executionId }) })
    else ended.resolve({ how: 'broken', error: errorOfProblem(message.problem) })
  }

  async function endOf(code: number): Promise<ConnectionEnd> {
    if (isLeaving || code === NORMAL) return { how: 'left' }
    if (executionId === '') return { how: 'broken', error: await refusalOf(transport, place) }
    return { how: 'broken', error: unreachable(transport.url, new Error(`the WebSocket was closed with ${code}`)) }
  }

  socket.addEventListener('message', (message: { readonly data: unknown }) => {
    const { data } = message
    if (data instanceof ArrayBuffer) return listener.onBytes(new Uint8Array(data))
    try {
      take(parsed<TerminalMessage | AttachMessage>(String(data)))
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      ended.resolve({ how: 'broken', error })
    }
  })
  // What went wrong is told by `close`, which follows.
  socket.addEventListener('error', () => undefined)
  socket.addEventListener('close', ({ code }) => void endOf(code).then(ended.resolve, ended.reject))
  void ended.promise.finally(() => socket.close())

  return {
    ended: ended.promise,
    get waiting() {
      return socket.bufferedAmount
    },
    write: (bytes) => socket.send(bytes),
    order: (order) => socket.send(JSON.stringify(order)),
    close() {
      isLeaving = true
      ended.resolve({ how: 'left' })
    },
  }
}
