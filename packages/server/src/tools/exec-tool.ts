/**
 * `exec`: a shell command in the session's sandbox.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import { MAXIMUM_TIMEOUT_MS } from '@holdfast/protocol'
import type { ToolResult } from '@holdfast/protocol'
import type { Running, Started } from '../sessions/running.ts'
import { ClippedStream } from './clipped-stream.ts'
import type { SessionSkills } from './session-skills.ts'
import type { OnOutput, Tool } from './tool.ts'
import { absolutePath } from './tool-paths.ts'

export interface ExecToolNeeds {
  readonly commands: Pick<Running, 'run'>
  readonly skills: Pick<SessionSkills, 'prepared'>
  /** Of each stream. */
  readonly outputCharacters: number
}

export function execTool({ commands, skills, outputCharacters }: ExecToolNeeds): Tool<'exec'> {
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
      return commands.run(caller, { id: session.id }, { command }, signal, (started) => attend(started, outputCharacters, onOutput))
    },
  }
}

async function attend(started: Started, outputCharacters: number, onOutput?: OnOutput): Promise<ToolResult<'exec'>> {
  const streams = { stdout: new ClippedStream(outputCharacters), stderr: new ClippedStream(outputCharacters) }
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
    truncated: isTruncated,
    ...(isTruncated ? { truncated_by: 'characters' } : {}),
    ...(end.cause === undefined || end.cause === null ? {} : { cause: end.cause.message }),
    ...(notice === undefined ? {} : { notice }),
  }
}
