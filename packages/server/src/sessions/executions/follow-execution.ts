/**
 * Reads one execution to its end, through lost connections, and keeps what it prints.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The end is only ever a real one: a wait status from the guest, or `lost`. The guest keeps the time-out; should it not (a
 * frozen or hostile guest), the sandbox is destroyed from out here.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ExecExit, Execution, ExecutionKey, Inside, OutputChunk } from '../../guest/inside.ts'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import { MomentaryReader } from './momentary-reader.ts'
import type { OutputLog } from './output-log.ts'
import type { Watchdog } from './watchdog.ts'

export interface FollowRequest {
  readonly live: LiveSandbox
  /** Just started (its output unread), or the key of one that runs already: its tag after a restart. */
  readonly execution: Execution | ExecutionKey
  /** Reading goes on after its `seq`. */
  readonly log: OutputLog
  /**
   * Sent to a program started with `stdin: 'pipe'` that was sent nothing yet; then its stdin ends. One that does not read it all is
   * fine. Should the connection break before the guest has it all, the program is killed and counts as lost, for
   * torn input must not look like a whole one.
   */
  readonly stdin?: string | Uint8Array | undefined
  /** Which stream reads it from now on; `null` while there is none. Input of later goes the same way. */
  readonly onReading?: ((reading: Execution | null) => void) | undefined
  /** The guest has all of it. */
  readonly onInputWhole?: (() => void) | undefined
  /** An earlier server died before the guest had all of it: treated like a connection that broke then. */
  readonly isInputTorn?: boolean | undefined
  /**
   * The reader of the moment, who sees each chunk after the log did. A promise is back-pressure on the program; a chunk's bytes are
   * valid only until the call returns. When it throws, it is not called again and the execution is followed on without it.
   */
  readonly onChunk?: ((chunk: OutputChunk) => void | Promise<void>) | undefined
  /** So many bytes more were printed. */
  readonly onOutput?: ((bytes: number) => void) | undefined
  /** Why `onChunk` is not called any more: what it threw, or that it held the program up beyond its time-out. */
  readonly onReaderFailed?: ((error: unknown) => void) | undefined
  /** Destroys the sandbox when the guest does not enforce the timeout; stopped here at the end. Absent: it may run for ever. */
  readonly watchdog?: Watchdog | null | undefined
}

interface Followed {
  /** Sequence number after the last byte that was printed or is known to be lost. */
  readonly outputSeq: number
  /** Bytes that nobody read in time, while it was followed here. */
  readonly skippedBytes: number
}

/** It ended and the guest knows how: either `exitCode` or `signal` is set. */
export interface EndedExecution extends Followed, ExecExit {
  readonly outcome: 'ended'
  /** The guest's own number, for `forgetExecution`. */
  readonly id: bigint
}

/** It is over, but nobody will ever know how: the sandbox is gone, or the guest does not know. */
export interface LostExecution extends Followed {
  readonly outcome: 'lost'
  readonly reason: HoldfastError
}

/** The server has let go of the sandbox: the execution runs on, to be followed again by its tag. */
export interface LeftExecution extends Followed {
  readonly outcome: 'left'
}

export type FollowedEnd = EndedExecution | LostExecution | LeftExecution

/** Never rejects because of the sandbox. The log is not closed: that is its owner's. */
export async function followExecution(request: FollowRequest): Promise<FollowedEnd> {
  const { live, log, execution, watchdog = null } = request
  const reader = request.onChunk === undefined ? null : new MomentaryReader(request.onChunk, request.onReaderFailed)
  if (reader !== null) watchdog?.readBy(reader)
  let skippedBytes = 0

  async function attachAgain(key: ExecutionKey): Promise<Execution> {
    const attached = await persistently(live, ({ processes }) => processes.attach(key, { after: log.seq }))
    skippedBytes += attached.skippedBytes
    log.skipTo(log.seq + attached.skippedBytes)
    return attached
  }

  function take(chunk: OutputChunk): void | Promise<void> {
    log.append(chunk)
    request.onOutput?.(chunk.bytes.length)
    return reader?.take(chunk)
  }

  try {
    const isStarted = 'drain' in execution
    const key: ExecutionKey = isStarted ? { id: execution.id } : execution
    let reading = isStarted ? execution : await attachAgain(key)
    request.onReading?.(reading)
    const input = request.stdin === undefined ? null : feed(live, reading, request.stdin, request.onInputWhole)
    let isTorn = request.isInputTorn ?? false
    if (isTorn) await killTorn(live, key)
    for (;;) {
      try {
        const exit = await reading.drain(take)
        if (isTorn && exit.killed)
          throw new HoldfastError('request_cancelled', 'the connection broke while stdin was being sent, so the program was killed')
        return ended(reading.id, exit, log.seq, skippedBytes)
      } catch (error) {
        if (!isContactLost(error)) throw error
        request.onReading?.(null)
        if (input !== null && !input.isWhole && !isTorn) {
          isTorn = true
          await killTorn(live, key)
        }
        reading = await attachAgain(key)
        request.onReading?.(reading)
      }
    }
  } catch (error) {
    return unfinished(watchdog?.barked ?? error, log.seq, skippedBytes)
  } finally {
    watchdog?.stop()
  }
}

/** The guest may drop its record: call it once the end is stored. Quietly nothing when the guest cannot be reached. */
export function forgetExecution(live: LiveSandbox, end: EndedExecution): void {
  try {
    live.inside.processes.forget(end.id)
  } catch (error) {
    // Decision: the guest keeps only so many ended ones anyway.
    if (!isHoldfastError(error)) throw error
  }
}

/** Asks again over each new connection; what it rejects with is final. */
async function persistently<T>(live: LiveSandbox, ask: (inside: Inside) => Promise<T>): Promise<T> {
  for (;;) {
    const inside = await live.connected()
    try {
      return await ask(inside)
    } catch (error) {
      if (!isContactLost(error)) throw error
      await inside.closed
    }
  }
}

/** The connection is over, for whatever reason; what the execution does is not known from that. */
function isContactLost(error: unknown): boolean {
  return isHoldfastError(error) && ['guest_unreachable', 'guest_protocol_violated', 'internal'].includes(error.code)
}

function ended(id: bigint, exit: ExecExit, outputSeq: number, skippedBytes: number): FollowedEnd {
  if (exit.exitCode !== null || exit.signal !== null) return { outcome: 'ended', id, ...exit, outputSeq, skippedBytes }
  const reason = new HoldfastError('guest_unreachable', 'the guest could not wait for the program and does not know how it ended')
  return { outcome: 'lost', reason, outputSeq, skippedBytes }
}

function unfinished(error: unknown, outputSeq: number, skippedBytes: number): FollowedEnd {
  if (!isHoldfastError(error)) throw error
  if (error.code === 'server_stopping') return { outcome: 'left', outputSeq, skippedBytes }
  return { outcome: 'lost', reason: error, outputSeq, skippedBytes }
}

/** `isWhole` once the guest has everything and knows that no more comes. */
function feed(
  live: LiveSandbox,
  execution: Execution,
  stdin: string | Uint8Array,
  onWhole: (() => void) | undefined,
): { readonly isWhole: boolean } {
  const input = { isWhole: false }
  const send = async (): Promise<void> => {
    const { inside } = live
    await execution.stdin.write(typeof stdin === 'string' ? Buffer.from(stdin, 'utf8') : stdin)
    execution.stdin.end()
    // Frames are read in their order, so the answer proves that what was sent before has arrived.
    await inside.ping()
    input.isWhole = true
    onWhole?.()
  }
  // Decision: a program may end, or close its stdin, without reading everything; how it ended is told by its exit.
  send().catch(() => undefined)
  return input
}

/** A tree that cannot be proved dead takes its sandbox with it. */
async function killTorn(live: LiveSandbox, key: ExecutionKey): Promise<void> {
  try {
    const { verified } = await persistently(live, ({ processes }) => processes.kill(key))
    // Decision: what could not be destroyed now is found by its name later.
    if (!verified) await live.destroy().catch(() => undefined)
  } catch (error) {
    // It ended by itself, and the guest may still know how.
    if (!isHoldfastError(error, 'process_unknown')) throw error
  }
}
