/**
 * The tools of every model, `exec` to `register_skill`, as an offer of the MCP server.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { PREVIEW_TTL_SECONDS } from '@holdfast/protocol'
import type { Tool } from '@modelcontextprotocol/server'
import { authorize } from '../../../access/authorize.ts'
import type { Tools } from '../../../tools/tools.ts'
import type { MakePreview } from '../../preview/make-preview.ts'
import { auditedBy } from '../../rest/audited-by.ts'
import type { SessionIdOf } from './conversation-session.ts'
import { toldResult } from './tool-offer.ts'
import type { ToolOffer, ToolVisit, ToolWatch } from './tool-offer.ts'

const READERS: ReadonlySet<string> = new Set(['read', 'glob', 'grep', 'process_list', 'process_logs'])

export interface ModelToolsNeeds {
  readonly tools: Tools
  readonly sessionIdOf: SessionIdOf
  readonly makePreview: MakePreview
}

export function modelTools({ tools, sessionIdOf, makePreview }: ModelToolsNeeds): ToolOffer {
  const listed: readonly Tool[] = tools.definitions().map(({ name, description, input_schema: schema }) => ({
    ...{ name, description, inputSchema: { ...schema, type: 'object' as const } },
    annotations: { readOnlyHint: READERS.has(name) },
  }))
  const names = new Set(listed.map(({ name }) => name))

  async function run(visit: ToolVisit, name: string, input: unknown, { signal, onOutput }: ToolWatch) {
    const sessionId = await sessionIdOf(visit, signal)
    const context = {
      sessionId,
      previewLink: (port: number) => makePreview(visit, sessionId, { port, ttlSeconds: PREVIEW_TTL_SECONDS }),
      requireSkillWriter() {
        authorize(visit.principal, 'manage-skills')
        return auditedBy(visit)
      },
      onOutput,
      showsImages: true,
    }
    return toldResult(await tools.call(visit.caller, context, name, input, signal))
  }

  return {
    list: async () => listed,
    call: (visit, name, input, watch) => (names.has(name) ? run(visit, name, input, watch) : null),
  }
}
