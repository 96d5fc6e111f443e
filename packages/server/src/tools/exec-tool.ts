/**
 * `exec`: a shell command in the session's sandbox.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import { MAXIMUM_TIMEOUT_MS, TOOL_OUTPUT_CHARACTERS } from '@holdfast/protocol'
import type { ToolResult } from '@holdfast/protocol'
import type { Running, Started } from '../sessions/running.ts'
import { ClippedStream } from './clipped-stream.ts'
import type { SessionSkills } from './session-skills.ts'
import type { OnOutput, Tool } from './tool.ts'
import { absolutePath } from './tool-paths.ts'

export interface ExecToolNeeds {
  readonly commands: Pick<Running, 'run'>
  readonly skills: Pick<SessionSkills, 'prepared'>
  /** What isolates the session's sandbox at this moment; `null` when it has none. */
  backendOf(session: { readonly id: string; readonly tenantId: string }): Promise<string | null>
}

export function execTool({ commands, skills, backendOf }: ExecToolNeeds): Tool<'exec'> {
  return {
    name: 'exec',
    description:
      'Run a shell command in your sandbox: programs, Python, exact calculations. ' +
      'Files in /workspace and in the home directory stay. Of long output you get the beginning and the end. ' +
      'Run the programs of a skill with workdir set to its directory, after you have activated it.',
    async run(call, input) {
      const { caller, session, signal, onOutput } = call
      const command = {
        argv: ['/bin/sh', '-c', await skills.prepared(call, input)],
        cwd: absolutePath(session, input.workdir),
        env: input.env,
        timeoutMs: Math.min(input.timeout_sec * 1000, MAXIMUM_TIMEOUT_MS),
      }
      return commands.run(caller, { id: session.id }, { command }, signal, async (started) => {
        const [told, backend] = await Promise.all([attend(started, onOutput), backendOf(session)])
        return { session_id: session.id, backend, ...told }
      })
    },
  }
}

async function attend(
  started: Started,
  onOutput?: OnOutput,
): Promise<Omit<Extract<ToolResult<'exec'>, { readonly status: string }>, 'session_id' | 'backend'>> {
  const streams = { stdout: new ClippedStream(TOOL_OUTPUT_CHARACTERS), stderr: new ClippedStream(TOOL_OUTPUT_CHARACTERS) }
  const end = await started.finish((chunk) => {
    streams[chunk.channel].add(chunk.bytes)
    return onOutput?.(chunk)
  })
  const [stdout, stderr] = [streams.stdout.result(), streams.stderr.result()]
  const isTruncated = stdout.isTruncated || stderr.isTruncated
  const { notice } = started.session
  return {
    status: end.status,
    ok: end.status === 'completed' && end.exitCode === 0,
    exit_code: end.exitCode,
    stdout: stdout.text,
    stderr: stderr.text,
    stdout_truncated: stdout.isTruncated,
    stderr_truncated: stderr.isTruncated,
    duration_ms: end.durationMs === null ? null : Math.round(end.durationMs),
    preview: previewOf(stdout.text, stderr.text),
    truncated: isTruncated,
    ...(isTruncated ? { truncated_by: 'characters' } : {}),
    ...(notice === undefined ? {} : { notice }),
  }
}

function previewOf(stdout: string, stderr: string): string {
  return stdout !== '' && stderr !== '' ? `stdout:\n${stdout}\n\nstderr:\n${stderr}` : stdout + stderr
}
