/**
 * Holdfast itself, as it cares for MCP servers: owner of the sessions that are made for them, and hand on their processes.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Whoever asks is let in before; this one never decides who may.
 */
import { OWN_SUBJECTS } from '@holdfast/protocol'
import type { Caller, SessionVerb } from '../../sessions/caller.ts'

/** No key, no token and nobody who is spoken for has such a name. */
export const BOX_OWNER = `${OWN_SUBJECTS}mcp`

const VERBS: ReadonlySet<SessionVerb> = new Set(['read', 'read-output', 'exec', 'files', 'resume', 'release'])

export function boxCaller(tenantId: string): Caller {
  return {
    actor: { type: 'system', subject: BOX_OWNER, via: null },
    visibility: { tenantId, owner: null, groups: [] },
    owner: BOX_OWNER,
    mayCreate: (owner, ownerGroup) => owner === BOX_OWNER && ownerGroup === null,
    may: (verb) => VERBS.has(verb),
  }
}
