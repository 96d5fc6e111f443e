/**
 * `POST /v1/exec`: wire in, one call to the sessions, wire out; as one JSON answer or as a stream of events.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { CAPTURE_BYTES, ExecBody } from '@holdfast/protocol'
import type { ExecResult } from '@holdfast/protocol'
import type { Context } from 'hono'
import { OutputCapture } from '../../sessions/output-capture.ts'
import type { Sessions, Started } from '../../sessions/sessions.ts'
import { executionEvents } from './exec-events.ts'
import { exitEvent } from './exit-event.ts'
import { parseJsonBody } from './json-body.ts'
import type { RestEnvironment } from './rest.ts'

export function execRoute(sessions: Sessions) {
  return async (c: Context<RestEnvironment>): Promise<Response> => {
    const body = parseJsonBody(ExecBody, await c.req.text())
    const { session, image, network, limits, cwd, env, stdin } = body
    const argv = body.argv ?? ['/bin/sh', '-c', body.command ?? '']
    const command = { argv, cwd, env, stdin, timeoutMs: body.timeout_ms }
    const signal = c.req.raw.signal

    const run = <T>(attend: (started: Started) => Promise<T>) => sessions.run(session, { image, network, limits }, command, signal, attend)
    const isStream = c.req.header('accept')?.includes('text/event-stream') === true
    return isStream ? executionEvents(run, c.var.requestId) : c.json(await run(captured))
  }
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
