/**
 * The socket table as rows of the route table: what those get who come without an upgrade, and what the OpenAPI document says of it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import type { SessionReads } from '../../sessions/session-reads.ts'
import { empty, route } from '../rest/route.ts'
import type { Route } from '../rest/route.ts'
import type { SocketRow } from './socket-row.ts'

const AboutSession = z.looseObject({ id: z.string() })

export function socketRoutes(rows: readonly SocketRow[], reads: Pick<SessionReads, 'open'>): readonly Route[] {
  return rows.map(({ path, summary, authorization, protocol, params, query, errors }) =>
    route({
      ...{ method: 'GET', path, summary: `${summary} (WebSocket)`, authorization, params, query },
      answers: { 101: empty(`The connection is a WebSocket that speaks ${protocol}`) },
      errors: [...errors, 'upgrade_required'],
      async handle(call) {
        await reads.open(call.caller, authorization, AboutSession.parse(call.params).id)
        throw new HoldfastError('upgrade_required', 'this address is for a WebSocket, and the request asks for none')
      },
    }),
  )
}
