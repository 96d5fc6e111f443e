/**
 * A program behind a WebSocket that is made again when it breaks: what a terminal and an attached process have in common.
 *
 * The place in the output is counted in bytes, so after a broken connection the reader goes on where it was. What was written into a
 * connection that was already dead is not repeated: nobody knows whether it arrived.
 */
import { createByteQueue } from './byte-queue.ts'
import type { CommandExit } from './command-result.ts'
import { HoldfastError } from './errors.ts'
import { openProgramSocket } from './program-socket.ts'
import type { ConnectionEnd, Order, ProgramSocket } from './program-socket.ts'
import { promised } from './promised.ts'
import type { Promised } from './promised.ts'
import type { SocketPlace } from './socket-refusal.ts'
import { linkedSignal, pause, reasonOf } from './transport/patience.ts'
import { backoffMs } from './transport/retrying.ts'
import type { Transport } from './transport/transport.ts'

type Query = SocketPlace['query']

export interface Visit extends AsyncIterable<Uint8Array> {
  readonly executionId: string
  /** The place in its output: what to give as `after` to go on from here. */
  readonly seq: number
  /** Resolves when it is on its way. */
  write(data: string | Uint8Array): Promise<void>
  order(order: Order): Promise<void>
  /** Its end; `null` when it was left before. */
  readonly over: Promise<CommandExit | null>
  /** Whoever leaves wants no error. */
  leave(): void
}

export interface VisitNeeds {
  readonly transport: Transport
  readonly path: string
  readonly protocol: string
  /** Of the first connection. */
  readonly query: Query
  /** Of each further one, to the execution that has started; its `after` is added. */
  readonly again: (query: Query, executionId: string) => Query
  readonly after: number
  /** Of one message; what is longer is sent as several. */
  readonly frameBytes: number
  /** Leaves it for a moment, without ending it. */
  readonly rest: (socket: ProgramSocket) => void
  /** Each time that it is connected. */
  readonly onConnected?: ((socket: ProgramSocket) => void) | undefined
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
const LOOK_EVERY_MS = 20

export interface OpenVisit {
  /** May change what later connections ask for. */
  query(change: (query: Query) => Query): void
  /** Resolves when it has started. */
  readonly started: Promise<Visit>
}

export function openVisit(needs: VisitNeeds): OpenVisit {
  const { transport, path, protocol, onData, onGap, reconnectMs, frameBytes } = needs
  const linked = linkedSignal(needs.signal, needs.letGo)
  const queue = createByteQueue(UNREAD_BYTES)
  const started = quiet(promised<string>())
  const over = quiet(promised<CommandExit | null>())
  let query = needs.query
  let seq = needs.after
  /** Where the next bytes end, if counting them would be wrong. */
  let nextSeq: number | null = null
  let socket: ProgramSocket | null = null
  let connected = quiet(promised<ProgramSocket>())
  let isConnected = false
  let hasStarted = false
  let isResting = false
  let isLeft = false

  function show(take: (bytes: Uint8Array) => void, bytes: Uint8Array): void {
    try {
      take(bytes)
    } catch (error) {
      linked.abort(error)
    }
  }

  function connect(): ProgramSocket {
    nextSeq = null
    const opened = openProgramSocket(
      transport,
      { path, protocol, query },
      {
        onStarted(id, place) {
          seq = place
          query = needs.again(query, id)
          isConnected = true
          hasStarted = true
          connected.resolve(opened)
          started.resolve(id)
          needs.onConnected?.(opened)
        },
        onGap(skippedBytes) {
          if (isResting) return
          seq += skippedBytes
          onGap?.(skippedBytes)
        },
        onPlace(place) {
          nextSeq = place
        },
        onBytes(bytes) {
          // Asked for again later.
          if (isResting) return
          seq = nextSeq ?? seq + bytes.length
          nextSeq = null
          if (onData !== undefined) return show(onData, bytes)
          queue.push(bytes)
          if (!queue.isFull()) return
          // The only way to make a WebSocket wait is to leave it and to come back.
          isResting = true
          needs.rest(opened)
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
    const lost = failed ?? new HoldfastError({ code: 'execution_ended', message: 'it is over, or was left' })
    started.reject(lost)
    connected.reject(lost)
    if (failed === null) over.resolve(exit)
    else over.reject(failed)
  }
  live().then(
    (exit) => finish(null, exit),
    (error: unknown) => finish(error instanceof Error ? error : new Error(String(error)), null),
  )

  const isClogged = (open: ProgramSocket) => open === socket && open.waiting > UNSENT_BYTES
  const visit = (executionId: string): Visit => ({
    executionId,
    get seq() {
      return seq
    },
    async write(data) {
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : Uint8Array.from(data)
      for (let start = 0; start < bytes.length; start += frameBytes) {
        const open = await connected.promise
        open.write(bytes.slice(start, start + frameBytes))
        while (isClogged(open)) await pause(LOOK_EVERY_MS, linked.signal)
      }
    },
    order: async (wish) => (await connected.promise).order(wish),
    over: over.promise,
    leave,
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  })
  return {
    query: (change) => void (query = change(query)),
    started: started.promise.then(visit),
  }
}

/** That nobody waits for it is no failure. */
function quiet<T>(waited: Promised<T>): Promised<T> {
  waited.promise.catch(() => undefined)
  return waited
}
