/**
 * Every row of the socket table.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { Sessions } from '../../sessions/sessions.ts'
import { processSocket } from './process-socket.ts'
import type { SocketRow } from './socket-row.ts'
import { terminalSocket } from './terminal-socket.ts'

export function socketRows({ terminals, processes }: Pick<Sessions, 'terminals' | 'processes'>): readonly SocketRow[] {
  return [terminalSocket({ terminals }), processSocket({ processes })]
}
