/**
 * `/v1/sessions/{id}/executions/{execution}/…`: what is done to an execution while it runs.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { InputBody, ResizeBody, SignalBody } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import type { Interaction } from '../../sessions/interaction.ts'
import { ExecutionIds } from './paths.ts'
import { empty, route } from './route.ts'
import type { Route } from './route.ts'

const RUNNING: readonly ErrorCode[] = [
  'execution_ended',
  'session_elsewhere',
  'session_unavailable',
  'sandbox_gone',
  'guest_unreachable',
  'guest_protocol_violated',
  'request_cancelled',
  'server_stopping',
]

export function inputRoutes({ commands }: { readonly commands: Interaction }): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/executions/{execution}/stdin',
      summary: 'Send more input to an execution, and wait until its sandbox has it',
      authorization: 'exec',
      params: ExecutionIds,
      body: InputBody,
      answers: { 204: empty('The sandbox has all of it') },
      errors: [...RUNNING, 'not_interactive', 'input_uncertain', 'session_held', 'capacity_exhausted'],
      async handle({ caller, params, body, signal }) {
        const input = { bytes: Buffer.from(body.data, body.encoding === 'text' ? 'utf8' : 'base64'), isLast: body.close }
        await commands.input(caller, params.id, params.execution, input, signal)
        return { status: 204, body: null }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/executions/{execution}/signal',
      summary: 'Send a signal to an execution, or to everything that it started',
      authorization: 'exec',
      params: ExecutionIds,
      body: SignalBody,
      answers: { 204: empty('It was sent') },
      errors: RUNNING,
      async handle({ caller, params, body }) {
        await commands.signal(caller, params.id, params.execution, body.signal, body.scope)
        return { status: 204, body: null }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/executions/{execution}/resize',
      summary: 'Give the terminal of an execution another size',
      authorization: 'exec',
      params: ExecutionIds,
      body: ResizeBody,
      answers: { 204: empty('It has that size') },
      errors: [...RUNNING, 'not_interactive'],
      isRepeatable: true,
      async handle({ caller, params, body, signal }) {
        await commands.resize(caller, params.id, params.execution, body, signal)
        return { status: 204, body: null }
      },
    }),
  ]
}
