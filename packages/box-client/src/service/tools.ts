/**
 * What a model is offered and told. It chooses the command, its directory, time and environment; never the session or the mounts.
 */
import { z } from 'zod'
import type { BoxExecutionResult } from '@holdfast/protocol/box'
import { shorten } from './truncation.ts'

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  /** JSON Schema. */
  readonly parameters: Readonly<Record<string, unknown>>
}

export const ExecParameters = z.strictObject({
  command: z.string({ error: 'must be text' }).describe('Shell command to run in the sandbox.'),
  workdir: z.string({ error: 'must be text' }).describe('Directory to run in; /workspace unless given.').optional(),
  timeout_sec: z
    .int({ error: 'must be a whole number' })
    .min(1, { error: 'must be at least 1' })
    .describe('Seconds until it is stopped; 30 unless given.')
    .optional(),
  env: z.record(z.string(), z.string(), { error: 'must be an object of texts' }).describe('Environment of the command.').optional(),
  description: z.string({ error: 'must be text' }).describe('What the command is for, in a few words.').optional(),
})
export type ExecParameters = z.output<typeof ExecParameters>

const { $schema: _schema, ...parameters } = z.toJSONSchema(ExecParameters)

export const EXEC_TOOL: ToolDefinition = {
  name: 'exec',
  description: 'Run a shell command in an isolated sandbox. Files in /workspace stay for later commands of the conversation.',
  parameters,
}

export interface ExecToolResult {
  readonly session_id: string
  readonly backend: string
  readonly status: BoxExecutionResult['status']
  readonly ok: boolean
  readonly exit_code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly stdout_truncated: boolean
  readonly stderr_truncated: boolean
  readonly duration_ms: number
}

export function toolResultOf(result: BoxExecutionResult): ExecToolResult {
  const [stdout, stderr] = [shorten(result.stdout), shorten(result.stderr)]
  return {
    session_id: result.session_id,
    backend: result.backend_name,
    status: result.status,
    ok: result.status === 'completed' && result.exit_code === 0,
    exit_code: result.exit_code,
    stdout: stdout.text,
    stderr: stderr.text,
    stdout_truncated: stdout.isTruncated,
    stderr_truncated: stderr.isTruncated,
    duration_ms: result.duration_ms,
  }
}

/** For the system message while `exec` is offered. */
export function guidanceFor(outbox: string): string {
  return [
    'Run code with the tool exec for exact calculations, statistics and the parsing of data instead of estimating.',
    'Answer with the result; show the script only when the user asks for it.',
    'The workspace is mounted at /workspace; read and write files there without asking for a directory.',
    `Put files for the user into ${outbox}/ (create it if needed); all files there are delivered, so do not paste their contents.`,
  ].join(' ')
}
