/**
 * Every row of the socket table.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { Sessions } from '../../sessions/sessions.ts'
import type { SocketRow } from './socket-row.ts'
import { terminalSocket } from './terminal-socket.ts'

export function socketRows({ terminals }: Pick<Sessions, 'terminals'>): readonly SocketRow[] {
  return [terminalSocket({ terminals })]
}
