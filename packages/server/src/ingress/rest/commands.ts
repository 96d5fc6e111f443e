/**
 * A command as it comes over the wire → what the sessions are asked to run.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { ErrorCode, ExecBody, StartExecutionBody } from '@holdfast/protocol'
import type { z } from 'zod'
import type { Command } from '../../sessions/executions/command.ts'

type WireCommand = Pick<ExecBody, 'command' | 'argv' | 'cwd' | 'env'> &
  Partial<Pick<z.output<typeof StartExecutionBody>, 'stdin' | 'interactive' | 'terminal'>> & {
    readonly timeout_ms?: number | null | undefined
  }

export function commandOf({ command, argv, timeout_ms: timeoutMs, cwd, env, stdin, interactive, terminal }: WireCommand): Command {
  return { argv: argv ?? ['/bin/sh', '-c', command ?? ''], cwd, env, stdin, interactive, terminal, timeoutMs: timeoutMs ?? undefined }
}

/** What can keep a command from being started in a session that exists. */
export const START_ERRORS: readonly ErrorCode[] = [
  'not_found',
  'forbidden',
  'session_closed',
  'session_held',
  'session_busy',
  'session_unavailable',
  'session_elsewhere',
  'incarnation_changed',
  'command_not_started',
  'capacity_exhausted',
  'quota_exceeded',
  'image_missing',
  'capability_unsupported',
  'mount_refused',
  'backend_unavailable',
  'sandbox_gone',
  'guest_unreachable',
  'guest_protocol_violated',
  'request_cancelled',
  'server_stopping',
  'no_space',
]
