/**
 * `POST /v1/exec`: the main job in one call, as one JSON answer or as a stream of events.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { CAPTURE_BYTES, ExecBody, ExecResult, HoldfastError } from '@holdfast/protocol'
import { OutputCapture } from '../../sessions/output-capture.ts'
import type { ScopePolicy } from '../../policy/scopes/scope-policy.ts'
import type { Running, Started, Target } from '../../sessions/running.ts'
import { commandOf, START_ERRORS } from './commands.ts'
import { wantsEvents } from './event-stream.ts'
import { executionEvents } from './exec-events.ts'
import { exitEvent } from './exit-event.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'
import { CREATE_ERRORS } from './session-requests.ts'

export interface ExecNeeds {
  readonly commands: Pick<Running, 'run'>
  readonly scopes: ScopePolicy
}

export function execRoutes({ commands, scopes }: ExecNeeds): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/exec',
      summary: 'Run a command in the session of a conversation, which is made if need be',
      authorization: 'exec',
      body: ExecBody,
      answers: {
        200: json('ExecResult', ExecResult, 'What it printed and how it ended', 'started, then stdout and stderr, then exit or error'),
      },
      errors: [...CREATE_ERRORS, ...START_ERRORS],
      async handle(call) {
        const { body } = call
        if (!wantsEvents(call)) checkPlain(body)
        const request = { command: commandOf(body), expectedIncarnation: body.expected_incarnation }
        const run = <T>(attend: (started: Started) => Promise<T>) =>
          commands.run(call.caller, targetOf(body, scopes), request, call.signal, attend)
        return wantsEvents(call) ? executionEvents(run, call, body.encoding) : { status: 200, body: await run(captured) }
      },
    }),
  ]
}

/** One document cannot say what only a stream can. */
function checkPlain({ timeout_ms: timeoutMs, interactive, encoding }: ExecBody): void {
  const field = timeoutMs === null ? 'timeout_ms' : interactive ? 'interactive' : encoding === 'base64' ? 'encoding' : null
  if (field === null) return
  const problem = 'this value goes with Accept: text/event-stream'
  throw new HoldfastError('invalid_request', `${field}: ${problem}`, { problems: [{ field, problem }] })
}

function targetOf({ session, session_id: id, scope, variables, image, network, limits }: ExecBody, scopes: ScopePolicy): Target {
  if (id !== undefined) return { id }
  const key = session === undefined ? scopes.resolve({ scope, variables }) : scopes.resolveKey(session)
  return { key, wish: { image, network, limits } }
}

async function captured(started: Started): Promise<ExecResult> {
  const stdout = new OutputCapture(CAPTURE_BYTES)
  const stderr = new OutputCapture(CAPTURE_BYTES)
  const end = await started.finish(({ channel, bytes }) => (channel === 'stdout' ? stdout : stderr).add(bytes))
  return {
    ...exitEvent(started, end),
    stdout: stdout.text(),
    stderr: stderr.text(),
    stdout_truncated: stdout.isTruncated,
    stderr_truncated: stderr.isTruncated,
  }
}
