/**
 * `/v1/sessions/{id}/processes/{name}/attach`: a named process over a WebSocket, by bytes or by lines.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { AttachQuery, PROCESS_PROTOCOL } from '@holdfast/protocol'
import type { Processes } from '../../sessions/processes/processes.ts'
import { ProcessNames } from '../rest/paths.ts'
import { processConversation } from './process-conversation.ts'
import { socketRow } from './socket-row.ts'
import type { SocketRow } from './socket-row.ts'

export function processSocket({ processes }: { readonly processes: Processes }): SocketRow {
  return socketRow({
    path: '/v1/sessions/{id}/processes/{name}/attach',
    summary: 'Read and write a named process, or come back to it',
    authorization: 'exec',
    protocol: PROCESS_PROTOCOL,
    params: ProcessNames,
    query: AttachQuery,
    errors: ['not_found', 'forbidden', 'session_held', 'session_elsewhere', 'session_unavailable', 'quota_exceeded', 'request_cancelled'],
    async open(call) {
      const { caller, params, query } = call
      const { mode, execution, after = 0 } = query
      return processConversation(call, await processes.attach(caller, params.id, params.name, { execution, after }), mode, after)
    },
  })
}
