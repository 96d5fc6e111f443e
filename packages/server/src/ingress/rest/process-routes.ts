/**
 * `/v1/sessions/{id}/processes`: long-lived executions by name.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { KilledView, ProcessDetails, ProcessList, StartProcessBody, StopProcessQuery } from '@holdfast/protocol'
import type { ProcessView } from '@holdfast/protocol'
import type { Caller } from '../../sessions/caller.ts'
import { MAX_LISTED } from '../../sessions/processes/processes.ts'
import type { ProcessRow, Processes } from '../../sessions/processes/processes.ts'
import { commandOf, START_ERRORS } from './commands.ts'
import { moment, momentOrNull } from './moment.ts'
import { OneId, ProcessNames } from './paths.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export function processRoutes({ processes }: { readonly processes: Processes }): readonly Route[] {
  const details = async (caller: Caller, row: ProcessRow): Promise<ProcessDetails> => ({
    ...processView(row),
    stderr_tail: await processes.stderrTail(caller, row),
  })
  return [
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/processes',
      summary: 'Start a process that is kept by a name, and started again by the rules of restart',
      authorization: 'exec',
      params: OneId,
      body: StartProcessBody,
      answers: { 201: json('Process', ProcessDetails, 'It has started') },
      errors: [...START_ERRORS, 'name_taken'],
      async handle({ caller, params, body, signal }) {
        const { name, restart, expected_incarnation: expectedIncarnation } = body
        const row = await processes.start(caller, params.id, { name, command: commandOf(body), restart, expectedIncarnation }, signal)
        return { status: 201, body: await details(caller, row), headers: { location: `/v1/sessions/${row.sessionId}/processes/${name}` } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/processes',
      summary: 'List the named processes of a session: the newest of each name',
      authorization: 'read',
      params: OneId,
      answers: { 200: json('ProcessList', ProcessList, 'Newest first, those that have ended too; at most a thousand names') },
      errors: ['not_found'],
      async handle({ caller, params }) {
        const rows = await processes.list(caller, params.id, MAX_LISTED + 1)
        return { status: 200, body: { items: rows.slice(0, MAX_LISTED).map(processView), truncated: rows.length > MAX_LISTED } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/processes/{name}',
      summary: 'Look at a named process',
      authorization: 'read',
      params: ProcessNames,
      answers: { 200: json('Process', ProcessDetails, 'The newest of that name') },
      errors: ['not_found'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: await details(caller, await processes.get(caller, params.id, params.name)),
      }),
    }),
    route({
      method: 'DELETE',
      path: '/v1/sessions/{id}/processes/{name}',
      summary: 'End a named process with everything it started, for good; one that has ended is not started again',
      authorization: 'exec',
      params: ProcessNames,
      query: StopProcessQuery,
      answers: { 200: json('Killed', KilledView, 'What was ended') },
      errors: ['not_found', 'forbidden', 'session_elsewhere'],
      handle: async ({ caller, params, query }) => ({
        status: 200,
        body: await processes.stop(caller, params.id, params.name, query.grace_ms),
      }),
    }),
  ]
}

function processView(row: ProcessRow): ProcessView {
  return {
    name: row.name,
    execution_id: row.id,
    session_id: row.sessionId,
    status: row.status,
    exit_code: row.exitCode,
    signal: row.signal,
    started_at: moment(row.startedAt),
    ended_at: momentOrNull(row.endedAt),
    output_seq: row.outputSeq,
    restart:
      row.restart === null
        ? null
        : { policy: row.restart.policy, max_restarts: row.restart.maxRestarts, backoff_ms: row.restart.backoffMs },
    restarts: row.restart?.restarts ?? 0,
    next_start_at: momentOrNull(row.nextStartAt),
    attached: row.attached,
  }
}
