/**
 * `/v1/sessions/{id}/executions`: commands that are left to run, looked at and cancelled.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import {
  CancelExecutionBody,
  ExecStartedEvent,
  ExecutionView,
  KilledView,
  OutputPageView,
  OutputQuery,
  pageOf,
  PagingShape,
  StartExecutionBody,
} from '@holdfast/protocol'
import { z } from 'zod'
import type { EventListeners } from '../../sessions/events/event-listeners.ts'
import type { Running } from '../../sessions/running.ts'
import { commandOf, START_ERRORS } from './commands.ts'
import { wantsEvents } from './event-stream.ts'
import { executionView } from './execution-view.ts'
import { lastEventNumber } from './last-event.ts'
import { outputEvents } from './output-events.ts'
import { outputPage } from './output-page.ts'
import type { Pages } from './page-tokens.ts'
import { ExecutionIds, OneId } from './paths.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export interface ExecutionRoutesNeeds {
  readonly commands: Running
  readonly listeners: EventListeners
  readonly pages: Pages
}

export function executionRoutes({ commands, listeners, pages }: ExecutionRoutesNeeds): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/executions',
      summary: 'Start a command and leave it running',
      authorization: 'exec',
      params: OneId,
      body: StartExecutionBody,
      answers: { 201: json('StartedExecution', ExecStartedEvent, 'It has started') },
      errors: START_ERRORS,
      async handle({ caller, params, body, signal }) {
        const request = { command: commandOf(body), expectedIncarnation: body.expected_incarnation, waitsForReader: body.attended }
        const { executionId, session } = await commands.start(caller, { id: params.id }, request, signal)
        const location = `/v1/sessions/${session.id}/executions/${executionId}`
        return { status: 201, body: { execution_id: executionId, session }, headers: { location } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/executions',
      summary: 'List the executions of a session, newest first',
      authorization: 'read',
      params: OneId,
      query: z.strictObject(PagingShape),
      answers: { 200: json('ExecutionPage', pageOf(ExecutionView), 'Commands and named processes') },
      errors: ['not_found', 'invalid_page_token'],
      async handle(call) {
        const body = await pages.page(
          call,
          'executions',
          (after, limit) =>
            commands.list(call.caller, call.params.id, after === null ? null : { startedAt: after[0], id: after[1] }, limit),
          ({ startedAt, id }) => [startedAt, id, 0],
          executionView,
        )
        return { status: 200, body }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/executions/{execution}',
      summary: 'Look at an execution',
      authorization: 'read',
      params: ExecutionIds,
      answers: { 200: json('Execution', ExecutionView, 'The execution') },
      errors: ['not_found'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: executionView(await commands.get(caller, params.id, params.execution)),
      }),
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/executions/{execution}/output',
      summary: 'Read what an execution printed, as far as it is kept; as a stream also what it prints from now on',
      authorization: 'read-output',
      params: ExecutionIds,
      query: OutputQuery,
      answers: {
        200: json(
          'OutputPage',
          OutputPageView,
          'What was printed after the given number of bytes',
          'stdout and stderr with their seq as id, gap where bytes are not kept any more, exit at the end, or error; more when the next stream goes on',
        ),
      },
      errors: ['not_found', 'forbidden', 'session_elsewhere'],
      async handle(call) {
        const { caller, params, query } = call
        const output = await commands.output(caller, params.id, params.execution)
        if (!wantsEvents(call)) return { status: 200, body: await outputPage(output, query) }
        const after = lastEventNumber(call) ?? query.after
        return outputEvents(call, { output, after, encoding: query.encoding }, { commands, listeners })
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/executions/{execution}/cancel',
      summary: 'Kill an execution with everything it started; one that has ended is left as it is',
      authorization: 'exec',
      params: ExecutionIds,
      body: CancelExecutionBody,
      answers: { 200: json('Killed', KilledView, 'What was ended') },
      errors: ['not_found', 'forbidden', 'session_elsewhere'],
      isRepeatable: true,
      handle: async ({ caller, params, body }) => ({
        status: 200,
        body: await commands.cancel(caller, params.id, params.execution, body.grace_ms),
      }),
    }),
  ]
}
