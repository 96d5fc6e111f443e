/**
 * The log of one MCP server's process, for somebody who may read it: what was done with it, what it printed, what it complained of.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { McpLogLine } from '@holdfast/protocol/mcp'
import type { Caller } from '../../sessions/caller.ts'
import { complaintsIn } from '../../sessions/processes/complaints.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { shown } from '../launch/progress.ts'
import { processNameOf } from './process-name.ts'
import type { ServerRun } from './server-run.ts'

const MAXIMUM_STDERR_LINES = 1_000

/** Throws `forbidden` for whoever may not read what runs in that session. */
export async function readLogs(sessions: Pick<Sessions, 'processes' | 'commands'>, caller: Caller, run: ServerRun): Promise<McpLogLine[]> {
  const told = run.log.lines().map(({ at, source, text }) => ({ at: new Date(at).toISOString(), source, text }))
  const complaints = (await complaintsOf(sessions, caller, run)).split('\n').filter((line) => line.trim() !== '')
  return [...told, ...complaints.slice(-MAXIMUM_STDERR_LINES).map((text) => ({ at: null, source: 'stderr' as const, text }))]
}

async function complaintsOf(
  { processes, commands }: Pick<Sessions, 'processes' | 'commands'>,
  caller: Caller,
  run: ServerRun,
): Promise<string> {
  const { session, server } = run
  if (session === null) return ''
  try {
    const { id, outputSeq } = await processes.get(caller, session.id, processNameOf(server.name))
    const output = await commands.output(caller, session.id, id)
    return shown((await complaintsIn(output, outputSeq)).toString('utf8'))
  } catch (error) {
    if (isHoldfastError(error, 'not_found') || isHoldfastError(error, 'session_elsewhere')) return ''
    throw error
  }
}
