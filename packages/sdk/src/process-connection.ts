/**
 * A named process that somebody is attached to, over a WebSocket that is made again when it breaks.
 *
 * Several may be attached at once; leaving leaves it running.
 */
import type { CommandExit } from './command-result.ts'
import { openVisit } from './program-visit.ts'
import type { VisitNeeds } from './program-visit.ts'

/** Its stdout is read with `for await`, or given to `onData`: in line mode one line with its end each time. */
export interface ProcessConnection extends AsyncIterable<Uint8Array>, AsyncDisposable {
  readonly executionId: string
  /** The place in its output: what to give as `after`, with `execution`, to go on from here. */
  readonly seq: number
  /** To its stdin; in line mode one line, whose end is added where it has none. Resolves when it is on its way. */
  write(data: string | Uint8Array): Promise<void>
  /** No more input follows, from nobody. */
  closeStdin(): Promise<void>
  signal(name: string): Promise<void>
  /** Its end; `null` when it was left before. */
  wait(): Promise<CommandExit | null>
  /** Leaves it; it runs on. */
  close(): void
}

export interface AttachOptions {
  /** What is read and written at once: a line (the default), or bytes as they come. */
  readonly mode?: 'line' | 'raw' | undefined
  /** Which execution of that name; the newest unless given. */
  readonly execution?: string | undefined
  /** Goes on after so many bytes of it. */
  readonly after?: number | undefined
  /** Called with what it prints; without it, read with `for await`. */
  readonly onData?: ((bytes: Uint8Array) => void) | undefined
  /** So many bytes are not kept any more. */
  readonly onGap?: ((skippedBytes: number) => void) | undefined
  /** Leaves it. */
  readonly signal?: AbortSignal | undefined
  /** For how long a lost server is looked for; a minute unless given. */
  readonly reconnectMs?: number | undefined
}

const PROTOCOL = 'holdfast.process.v1'
const FRAME_BYTES = 64 * 1024

/** Resolves when it is attached. */
export async function connectProcess(
  needs: Pick<VisitNeeds, 'transport' | 'path' | 'letGo' | 'reconnectMs'>,
  { mode = 'line', execution, after = 0, onData, onGap, signal }: AttachOptions,
): Promise<ProcessConnection> {
  const visit = await openVisit({
    ...needs,
    ...{ protocol: PROTOCOL, after, onData, onGap, signal },
    query: { mode, execution, after },
    again: (_query, id) => ({ mode, execution: id }),
    // A line is one message.
    frameBytes: mode === 'line' ? Infinity : FRAME_BYTES,
    rest: (socket) => socket.close(),
  }).started
  return {
    executionId: visit.executionId,
    get seq() {
      return visit.seq
    },
    write: visit.write,
    closeStdin: () => visit.order({ type: 'end' }),
    signal: (name) => visit.order({ type: 'signal', signal: name }),
    wait: () => visit.over,
    close: visit.leave,
    [Symbol.asyncIterator]: () => visit[Symbol.asyncIterator](),
    async [Symbol.asyncDispose]() {
      visit.leave()
      await visit.over.catch(() => undefined)
    },
  }
}
