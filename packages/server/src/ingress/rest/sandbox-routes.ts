/**
 * `/v1/sandboxes`: what runs, as the store knows it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError, ListSandboxesQuery, pageOf, SandboxView } from '@holdfast/protocol'
import type { Store } from '../../store/store.ts'
import { findVisibleSandbox, listSandboxes } from '../../store/tables/visible-sandboxes.ts'
import type { InhabitedSandbox } from '../../store/tables/visible-sandboxes.ts'
import { moment } from './moment.ts'
import type { Pages } from './page-tokens.ts'
import { OneId } from './paths.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export function sandboxRoutes({ store, pages }: { readonly store: Store; readonly pages: Pages }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/sandboxes',
      summary: 'List sandboxes, newest first',
      authorization: 'read-sandboxes',
      query: ListSandboxesQuery,
      answers: { 200: json('SandboxPage', pageOf(SandboxView), 'Those of the tenant, or those that a session of the caller is in') },
      errors: ['invalid_page_token'],
      async handle(call) {
        const body = await pages.page(
          call,
          'sandboxes',
          (after, limit) => {
            const place = after === null ? null : { createdAt: after[0], id: after[1] }
            return store.read((sql) => listSandboxes(sql, call.caller.visibility, place, limit))
          },
          ({ createdAt, id }) => [createdAt, id, 0],
          sandboxView,
        )
        return { status: 200, body }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sandboxes/{id}',
      summary: 'Look at a sandbox',
      authorization: 'read-sandboxes',
      params: OneId,
      answers: { 200: json('Sandbox', SandboxView, 'The sandbox') },
      errors: ['not_found'],
      async handle({ caller, params }) {
        const found = await store.read((sql) => findVisibleSandbox(sql, caller.visibility, params.id))
        if (found === null) throw new HoldfastError('not_found', 'there is no such sandbox')
        return { status: 200, body: sandboxView(found) }
      },
    }),
  ]
}

function sandboxView(sandbox: InhabitedSandbox): SandboxView {
  return {
    id: sandbox.id,
    backend: sandbox.backend,
    state: sandbox.state,
    server_id: sandbox.serverId,
    sessions: [...sandbox.sessionIds],
    session_count: sandbox.sessionCount,
    max_sessions: sandbox.maxSessions,
    created_at: moment(sandbox.createdAt),
  }
}
