/**
 * The conversation that a request about an MCP server is for.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import type { StartMcpServerBody } from '@holdfast/protocol/mcp'
import type { Asking } from '../../mcp/run/place.ts'
import type { Caller } from '../../sessions/caller.ts'
import { keyOf } from './session-requests.ts'
import type { KeyNeeds } from './session-requests.ts'

/** Throws `pipeline_unknown` and `invalid_request`. */
export async function askedFor(body: StartMcpServerBody, needs: KeyNeeds, caller: Caller): Promise<Pick<Asking, 'target' | 'pipeline'>> {
  const { session_id: id, session: key, scope, variables, missing, pipeline, profile } = body
  if (id !== undefined) return { target: { id }, pipeline }
  if (key === undefined && scope === undefined && variables === undefined && pipeline === undefined) return { target: null, pipeline }
  const found = await keyOf({ key, scope, variables, missing, pipeline }, needs, caller)
  return { target: { key: found, wish: { pipeline, profile } }, pipeline }
}
