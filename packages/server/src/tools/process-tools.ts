/**
 * `process_start`, `process_list`, `process_logs`, `process_stop`: programs that run on, such as a model's web server.
 *
 * While a named process runs, its session does not idle out.
 */
import type { ToolResult } from '@holdfast/protocol'
import type { Processes, ProcessRow } from '../sessions/processes/processes.ts'
import { textTail } from '../sessions/processes/complaints.ts'
import type { Running } from '../sessions/running.ts'
import type { Tool } from './tool.ts'
import { toldOfNames } from './tool-failure.ts'
import { absolutePath } from './tool-paths.ts'

export interface ProcessToolsNeeds {
  readonly processes: Pick<Processes, 'start' | 'list' | 'get' | 'stop'>
  readonly commands: Pick<Running, 'output'>
  /** Of what a process printed. */
  readonly outputCharacters: number
}

export interface ProcessTools {
  readonly start: Tool<'process_start'>
  readonly list: Tool<'process_list'>
  readonly logs: Tool<'process_logs'>
  readonly stop: Tool<'process_stop'>
}

const MOST_LISTED = 100

export function processTools({ processes, commands, outputCharacters }: ProcessToolsNeeds): ProcessTools {
  return {
    start: {
      name: 'process_start',
      description: 'Start a program that runs on under a name, such as a web server. It keeps your sandbox awake until you stop it.',
      async run({ caller, session, signal }, { name, command, workdir, env }) {
        const argv = ['/bin/sh', '-c', command]
        const request = { name, command: { argv, cwd: absolutePath(session, workdir), env } }
        return { ok: true, ...stateOf(await toldOfNames(() => processes.start(caller, session.id, request, signal))) }
      },
    },
    list: {
      name: 'process_list',
      description: 'List the programs that you started with process_start: whether they run, and how they ended.',
      async run({ caller, session }) {
        const rows = await processes.list(caller, session.id, MOST_LISTED + 1)
        return { ok: true, processes: rows.slice(0, MOST_LISTED).map(stateOf), truncated: rows.length > MOST_LISTED }
      },
    },
    logs: {
      name: 'process_logs',
      description: 'Show the end of what a program that you started with process_start has printed.',
      async run({ caller, session }, { name }): Promise<ToolResult<'process_logs'>> {
        const row = await toldOfNames(() => processes.get(caller, session.id, name))
        const output = await commands.output(caller, session.id, row.id)
        const { chunks } = await output.read(Math.max(0, row.outputSeq - outputCharacters))
        const text = textTail(Buffer.concat(chunks.map(({ bytes }) => bytes)), outputCharacters)
        return { ok: true, ...stateOf(row), output: text, truncated: row.outputSeq > outputCharacters }
      },
    },
    stop: {
      name: 'process_stop',
      description: 'Stop a program that you started with process_start, with everything that it started.',
      async run({ caller, session }, { name }) {
        await toldOfNames(() => processes.stop(caller, session.id, name))
        return { ok: true, name }
      },
    },
  }
}

function stateOf({ name, status, exitCode, startedAt }: ProcessRow) {
  return { name, status, exit_code: exitCode, started_at: new Date(startedAt).toISOString() }
}
