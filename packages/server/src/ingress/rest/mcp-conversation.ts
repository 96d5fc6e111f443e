/**
 * The conversation that a request about an MCP server is for.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import type { StartMcpServerBody } from '@holdfast/protocol/mcp'
import type { Asking } from '../../mcp/run/place.ts'
import { keyOf } from './session-requests.ts'
import type { KeyNeeds } from './session-requests.ts'

/** Throws `pipeline_unknown` and `invalid_request`. */
export function askedFor(body: StartMcpServerBody, needs: KeyNeeds): Pick<Asking, 'target' | 'pipeline'> {
  const { session_id: id, session: key, scope, variables, missing, pipeline, profile } = body
  if (id !== undefined) return { target: { id }, pipeline }
  if (key === undefined && scope === undefined && variables === undefined && pipeline === undefined) return { target: null, pipeline }
  return { target: { key: keyOf({ key, scope, variables, missing, pipeline }, needs), wish: { pipeline, profile } }, pipeline }
}
