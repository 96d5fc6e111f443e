/**
 * A terminal of a session: a shell or a program behind a WebSocket that is made again when it breaks.
 *
 * The place in the output is counted in bytes, so after a broken connection the screen goes on where it was. What was typed into a
 * connection that was already dead is not repeated: nobody knows whether it arrived.
 */
import type { TerminalOrder } from '@holdfast/protocol'
import { createByteQueue } from './byte-queue.ts'
import type { CommandExit } from './command-result.ts'
import { HoldfastError } from './errors.ts'
import type { Execution, KillOptions } from './execution.ts'
import type { Killed } from './execution-record.ts'
import { promised } from './promised.ts'
import type { Promised } from './promised.ts'
import type { TerminalPlace } from './terminal-refusal.ts'
import { openTerminalSocket } from './terminal-socket.ts'
import type { ConnectionEnd, TerminalSocket } from './terminal-socket.ts'
import { linkedSignal, pause, reasonOf } from './transport/patience.ts'
import { backoffMs } from './transport/retrying.ts'
import type { Transport } from './transport/transport.ts'

export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}

/** Its output is read with `for await`, or given to `onData`. */
export interface Terminal extends AsyncIterable<Uint8Array>, AsyncDisposable {
  readonly executionId: string
  /** The place in its output: what to give as `after` to go on from here. */
  readonly seq: number
  /** Types. Resolves when it is on its way. */
  write(data: string | Uint8Array): Promise<void>
  resize(size: TerminalSize): Promise<void>
  signal(name: string): Promise<void>
  /** Its end; `null` when it was left before. */
  wait(): Promise<CommandExit | null>
  /** Leaves it running, for `pty.connect`. */
  detach(): Promise<void>
  /** Ends it with everything it started. */
  kill(options?: KillOptions): Promise<Killed>
  /** Hangs up. The server ends it after half a minute, unless somebody connects to it. */
  close(): void
}

export interface TerminalNeeds {
  readonly transport: Transport
  readonly path: string
  /** Of the first connection. */
  readonly query: TerminalPlace['query']
  readonly after: number
  executionOf(id: string): Execution
  onData?: ((bytes: Uint8Array) => void) | undefined
  onGap?: ((skippedBytes: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
  readonly letGo: AbortSignal
  readonly reconnectMs: number
}

/** More than this is not fetched for a reader who does not read. */
const UNREAD_BYTES = 4 * 1024 * 1024
/** More than this is not handed to a connection that does not send. */
const UNSENT_BYTES = 1024 * 1024
const FRAME_BYTES = 64 * 1024
const LOOK_EVERY_MS = 20

/** Resolves when the terminal has started. */
export async function openTerminal(needs: TerminalNeeds): Promise<Terminal> {
  const { transport, path, onData, onGap, reconnectMs } = needs
  const linked = linkedSignal(needs.signal, needs.letGo)
  const queue = createByteQueue(UNREAD_BYTES)
  const started = quiet(promised<string>())
  const over = quiet(promised<CommandExit | null>())
  let query = needs.query
  let seq = needs.after
  let socket: TerminalSocket | null = null
  let connected = quiet(promised<TerminalSocket>())
  let isConnected = false
  let hasStarted = false
  let isResting = false
  let isLeft = false
  let isDetaching = false

  function show(take: (bytes: Uint8Array) => void, bytes: Uint8Array): void {
    try {
      take(bytes)
    } catch (error) {
      linked.abort(error)
    }
  }

  function connect(): TerminalSocket {
    const opened = openTerminalSocket(
      transport,
      { path, query },
      {
        onStarted(id, place) {
          seq = place
          query = { ...size(query), execution: id }
          isConnected = true
          hasStarted = true
          connected.resolve(opened)
          started.resolve(id)
          if (isDetaching) opened.order({ type: 'detach' })
        },
        onGap(skippedBytes) {
          if (isResting) return
          seq += skippedBytes
          onGap?.(skippedBytes)
        },
        onBytes(bytes) {
          // Asked for again later.
          if (isResting) return
          seq += bytes.length
          if (onData !== undefined) return show(onData, bytes)
          queue.push(bytes)
          if (!queue.isFull()) return
          // The only way to make a WebSocket wait is to leave it and to come back.
          isResting = true
          opened.order({ type: 'detach' })
        },
      },
    )
    return opened
  }

  /** Until it is over. `null`: left from here. */
  async function live(): Promise<CommandExit | null> {
    let failingSince: number | null = null
    for (let attempt = 1; ; attempt += 1) {
      const before = seq
      socket = connect()
      const end: ConnectionEnd = await socket.ended
      socket = null
      // Whoever waits for a connection that never came waits for the next one.
      if (isConnected) connected = quiet(promised())
      isConnected = false
      if (linked.signal.aborted) throw reasonOf(linked.signal)
      query = { ...query, after: seq }
      if (isResting) {
        await queue.drained()
        isResting = false
        continue
      }
      if (end.how === 'exit') return end.exit
      if (end.how === 'left') return null
      // One that never started is not tried again: it might have started all the same, and would then run twice.
      if (end.error.retry !== 'after-delay' || !hasStarted) throw end.error
      if (seq > before) attempt = 1
      failingSince = seq > before ? Date.now() : (failingSince ?? Date.now())
      if (Date.now() - failingSince > reconnectMs) throw end.error
      await pause(backoffMs(attempt), linked.signal)
    }
  }

  function leave(): void {
    isLeft = true
    linked.abort()
  }
  /** Whoever let go of it wants no error. */
  const unlessLetGo = (error: Error | null) => ((isLeft || needs.letGo.aborted) && needs.signal?.aborted !== true ? null : error)
  linked.signal.addEventListener('abort', () => {
    socket?.close()
    queue.end(unlessLetGo(reasonOf(linked.signal)) ?? undefined)
  })

  const finish = (error: Error | null, exit: CommandExit | null) => {
    linked.end()
    const failed = unlessLetGo(error)
    queue.end(failed ?? undefined)
    const lost = failed ?? new HoldfastError({ code: 'execution_ended', message: 'the terminal is over, or was left' })
    started.reject(lost)
    connected.reject(lost)
    if (failed === null) over.resolve(exit)
    else over.reject(failed)
  }
  live().then(
    (exit) => finish(null, exit),
    (error: unknown) => finish(error instanceof Error ? error : new Error(String(error)), null),
  )

  const executionId = await started.promise
  const isClogged = (open: TerminalSocket) => open === socket && open.waiting > UNSENT_BYTES
  const order = async (wish: TerminalOrder) => (await connected.promise).order(wish)
  return {
    executionId,
    get seq() {
      return seq
    },
    async write(data) {
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : Uint8Array.from(data)
      for (let start = 0; start < bytes.length; start += FRAME_BYTES) {
        const open = await connected.promise
        open.write(bytes.slice(start, start + FRAME_BYTES))
        while (isClogged(open)) await pause(LOOK_EVERY_MS, linked.signal)
      }
    },
    async resize({ cols, rows }) {
      query = { ...query, cols, rows }
      await order({ type: 'resize', cols, rows })
    },
    signal: (name) => order({ type: 'signal', signal: name }),
    wait: () => over.promise,
    async detach() {
      isDetaching = true
      await order({ type: 'detach' })
      await over.promise
    },
    kill: (options) => needs.executionOf(executionId).kill(options),
    close: leave,
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
    async [Symbol.asyncDispose]() {
      leave()
      await over.promise.catch(() => undefined)
    },
  }
}

function size({ cols, rows }: TerminalPlace['query']): TerminalPlace['query'] {
  return { cols, rows }
}

/** That nobody waits for it is no failure. */
function quiet<T>(waited: Promised<T>): Promised<T> {
  waited.promise.catch(() => undefined)
  return waited
}
