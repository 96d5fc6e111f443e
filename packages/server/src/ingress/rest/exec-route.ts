/**
 * `POST /v1/exec`: the main job in one call, as one JSON answer or as a stream of events.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { CAPTURE_BYTES, DEFAULT_TIMEOUT_MS, ExecBody, ExecResult, HoldfastError } from '@holdfast/protocol'
import type { Caller } from '../../sessions/caller.ts'
import { OutputCapture } from '../../sessions/output-capture.ts'
import type { Running, Started, Target } from '../../sessions/running.ts'
import { commandOf, START_ERRORS } from './commands.ts'
import { wantsEvents } from './event-stream.ts'
import { executionEvents } from './exec-events.ts'
import { exitEvent } from './exit-event.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'
import { CREATE_ERRORS, keyOf, wishOf } from './session-requests.ts'
import type { KeyNeeds } from './session-requests.ts'

export interface ExecNeeds extends KeyNeeds {
  readonly commands: Pick<Running, 'run' | 'resume'>
}

export function execRoutes({ commands, ...needs }: ExecNeeds): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/exec',
      summary: 'Run a command in the session of a conversation, which is made if need be',
      authorization: 'exec',
      body: ExecBody,
      answers: {
        200: json(
          'ExecResult',
          ExecResult,
          'What it printed and how it ended',
          'started, then stdout and stderr, gap where output was lost with the contact to the sandbox, then exit or error',
        ),
      },
      errors: [...CREATE_ERRORS, ...START_ERRORS],
      // Its execution has the id of its claim, so a command is never started twice for one key.
      isRepeatable: true,
      async handle(call) {
        const { body, claim } = call
        if (!wantsEvents(call)) checkPlain(body)
        const resumed = claim?.isTakenOver ? await commands.resume(call.caller, claim.executionId, call.signal, captured) : null
        if (resumed !== null) return { status: 200, body: resumed }
        const usualTimeoutMs = body.timeout_ms === undefined ? DEFAULT_TIMEOUT_MS : undefined
        const request = {
          ...{ command: commandOf(body), usualTimeoutMs, expectedIncarnation: body.expected_incarnation },
          executionId: claim?.executionId,
        }
        const target = await targetOf(body, needs, call.caller)
        const run = <T>(attend: (started: Started) => Promise<T>) => commands.run(call.caller, target, request, call.signal, attend)
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

async function targetOf(body: ExecBody, needs: KeyNeeds, caller: Caller): Promise<Target> {
  const { session_id: id, session: key, scope, variables, missing, pipeline } = body
  if (id !== undefined) return { id }
  return { key: await keyOf({ key, scope, variables, missing, pipeline }, needs, caller), wish: wishOf(body) }
}

async function captured(started: Started): Promise<ExecResult> {
  const stdout = new OutputCapture(CAPTURE_BYTES)
  const stderr = new OutputCapture(CAPTURE_BYTES)
  const end = await started.finish(({ channel, bytes }) => (channel === 'stdout' ? stdout : stderr).add(bytes))
  // Which of them it was printed to is not known.
  const isCut = (end.skippedBytes ?? 0) > 0
  return {
    ...exitEvent(started, end),
    stdout: stdout.text(),
    stderr: stderr.text(),
    stdout_truncated: isCut || stdout.isTruncated,
    stderr_truncated: isCut || stderr.isTruncated,
  }
}
