/**
 * Terminals of a session: started, or connected to again.
 */
import { createExecution } from './execution.ts'
import type { SessionView } from './session-record.ts'
import { openTerminal } from './terminal.ts'
import type { Terminal, TerminalNeeds, TerminalSize } from './terminal.ts'
import { RECONNECT_MS } from './transport/follow.ts'
import type { Transport } from './transport/transport.ts'

export interface ConnectOptions {
  readonly size?: TerminalSize | undefined
  /** Called with everything that it prints; without it, read the terminal with `for await`. */
  readonly onData?: ((bytes: Uint8Array) => void) | undefined
  /** So many bytes are not kept any more: what is on the screen is not whole. */
  readonly onGap?: ((skippedBytes: number) => void) | undefined
  /** Hangs up. */
  readonly signal?: AbortSignal | undefined
  /** For how long a lost server is looked for; a minute unless given. The server ends an abandoned terminal after half a minute. */
  readonly reconnectMs?: number | undefined
}

export interface CreateTerminalOptions extends Omit<ConnectOptions, 'size'> {
  /** 80 unless given. */
  readonly cols?: number | undefined
  /** 24 unless given. */
  readonly rows?: number | undefined
  /** Run by `/bin/sh`; a login shell unless given. */
  readonly command?: string | undefined
  readonly cwd?: string | undefined
}

export interface Terminals {
  create(options?: CreateTerminalOptions): Promise<Terminal>
  /** To one that was started before; from its beginning, as far as it is kept, or after so many bytes. */
  connect(executionId: string, options?: ConnectOptions & { readonly after?: number | undefined }): Promise<Terminal>
}

export interface TerminalsNeeds {
  readonly transport: Transport
  readonly session: () => SessionView
  readonly letGo: AbortSignal
}

const SIZE: TerminalSize = { cols: 80, rows: 24 }

export function createTerminals({ transport, session, letGo }: TerminalsNeeds): Terminals {
  const { id } = session()
  const executionOf = (executionId: string) =>
    createExecution({ transport, id: encodeURIComponent(executionId), session: session(), letGo })
  const open = (query: TerminalNeeds['query'], after: number, { onData, onGap, signal, reconnectMs = RECONNECT_MS }: ConnectOptions) =>
    openTerminal({
      ...{ transport, letGo, query, after, onData, onGap, signal, reconnectMs },
      path: `/v1/sessions/${id}/terminal`,
      executionOf,
    })
  return {
    create: ({ cols = SIZE.cols, rows = SIZE.rows, command, cwd, ...options } = {}) => open({ cols, rows, command, cwd }, 0, options),
    async connect(execution, { after = 0, size, ...options } = {}) {
      // A WebSocket would not say that there is none.
      await executionOf(execution).get({ signal: options.signal })
      return open({ execution, after, cols: size?.cols, rows: size?.rows }, after, options)
    },
  }
}
