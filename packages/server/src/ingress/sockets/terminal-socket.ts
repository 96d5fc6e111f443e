/**
 * `/v1/sessions/{id}/terminal`: a terminal over a WebSocket, started here or come back to.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { DEFAULT_COLS, DEFAULT_ROWS, isHoldfastError, TERMINAL_PROTOCOL, TerminalQuery } from '@holdfast/protocol'
import type { TerminalSize } from '@holdfast/protocol'
import type { Terminal, Terminals } from '../../sessions/terminals.ts'
import { START_ERRORS } from '../rest/commands.ts'
import { OneId } from '../rest/paths.ts'
import { socketRow } from './socket-row.ts'
import type { Knock, SocketRow } from './socket-row.ts'
import { terminalConversation } from './terminal-conversation.ts'

export function terminalSocket({ terminals }: { readonly terminals: Terminals }): SocketRow {
  return socketRow({
    path: '/v1/sessions/{id}/terminal',
    summary: 'Open a terminal, or come back to one',
    authorization: 'exec',
    protocol: TERMINAL_PROTOCOL,
    params: OneId,
    query: TerminalQuery,
    errors: [...START_ERRORS, 'not_interactive'],
    async open(call) {
      const { caller, params, query, signal } = call
      const { execution, command, cwd, cols, rows, after = 0 } = query
      if (execution === undefined) {
        const size = { cols: cols ?? DEFAULT_COLS, rows: rows ?? DEFAULT_ROWS }
        return terminalConversation(call, await terminals.open(caller, params.id, { size, command, cwd }, signal), 0)
      }
      const terminal = await terminals.attach(caller, params.id, execution, after)
      if (cols !== undefined && rows !== undefined) await resizeFor(call, terminal, { cols, rows })
      return terminalConversation(call, terminal, after)
    },
  })
}

/** For whoever comes back with a window of another size. */
async function resizeFor({ signal }: Knock, terminal: Terminal, size: TerminalSize): Promise<void> {
  try {
    await terminal.resize(size, signal)
  } catch (error) {
    // One that has ended needs no size.
    if (isHoldfastError(error, 'execution_ended')) return
    await terminal.withdraw()
    throw error
  }
}
