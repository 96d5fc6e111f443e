/**
 * A terminal of a session: a shell or a program behind a WebSocket that is made again when it breaks.
 */
import type { CommandExit } from './command-result.ts'
import type { Execution, KillOptions } from './execution.ts'
import type { Killed } from './execution-record.ts'
import type { ProgramSocket } from './program-socket.ts'
import { openVisit } from './program-visit.ts'
import type { VisitNeeds } from './program-visit.ts'

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

export interface TerminalNeeds extends Pick<
  VisitNeeds,
  'transport' | 'path' | 'query' | 'after' | 'onData' | 'onGap' | 'signal' | 'letGo' | 'reconnectMs'
> {
  executionOf(id: string): Execution
}

const PROTOCOL = 'holdfast.terminal.v1'
const FRAME_BYTES = 64 * 1024

/** Resolves when the terminal has started. */
export async function openTerminal({ executionOf, ...needs }: TerminalNeeds): Promise<Terminal> {
  let isDetaching = false
  const rest = (socket: ProgramSocket) => socket.order({ type: 'detach' })
  const opened = openVisit({
    ...needs,
    ...{ protocol: PROTOCOL, frameBytes: FRAME_BYTES, rest },
    again: ({ cols, rows }, execution) => ({ cols, rows, execution }),
    onConnected: (socket) => isDetaching && rest(socket),
  })
  const visit = await opened.started
  return {
    executionId: visit.executionId,
    get seq() {
      return visit.seq
    },
    write: visit.write,
    async resize({ cols, rows }) {
      opened.query((query) => ({ ...query, cols, rows }))
      await visit.order({ type: 'resize', cols, rows })
    },
    signal: (name) => visit.order({ type: 'signal', signal: name }),
    wait: () => visit.over,
    async detach() {
      isDetaching = true
      await visit.order({ type: 'detach' })
      await visit.over
    },
    kill: (options) => executionOf(visit.executionId).kill(options),
    close: visit.leave,
    [Symbol.asyncIterator]: () => visit[Symbol.asyncIterator](),
    async [Symbol.asyncDispose]() {
      visit.leave()
      await visit.over.catch(() => undefined)
    },
  }
}
