/**
 * Where an MCP server runs for whoever asks: in the session of the conversation, or in one of its own that its scope shares.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * A server with a box of its own is alone in it: what it is given as environment is nobody else's to read.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { McpScope } from '@holdfast/protocol/mcp'
import type { SessionMounts } from '../../policy/session-mounts.ts'
import type { TenantPipelines } from '../../policy/tenant-pipelines.ts'
import type { Caller } from '../../sessions/caller.ts'
import type { SessionRequest } from '../../sessions/getting.ts'
import type { Target } from '../../sessions/running.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { hostLook } from '../launch/host-look.ts'
import { planLaunch } from '../launch/plan.ts'
import type { McpServer } from '../servers/mcp-servers.ts'
import { conversationWish } from './box-wish.ts'
import type { RecentSessions } from './recent-sessions.ts'
import { failureOf } from './run-failure.ts'

/** Who asks for a server, and in which conversation. */
export interface Asking {
  readonly caller: Caller
  /** `null`: none is named, which is fine for a server that does not live in one. */
  readonly target: Target | null
  readonly pipeline: string | undefined
}

export interface Place {
  readonly scope: McpScope
  /** Names it among all places of one server. */
  readonly place: string
  /** The same for people. */
  readonly scopeKey: string
  /** The conversation's; `null`: one of the server's own. */
  readonly session: SessionRow | null
  readonly pipeline: string | null
}

export type PlaceOf = (server: McpServer, asking: Asking, signal: AbortSignal) => Promise<Place>

export interface PlacesNeeds {
  readonly sessions: Pick<Sessions, 'getOrCreate' | 'reads'>
  readonly pipelines: Pick<TenantPipelines, 'resolve'>
  readonly mounts: SessionMounts
  readonly recent: Pick<RecentSessions, 'recall'>
}

/** Throws `forbidden`, `invalid_request`, `pipeline_unknown`, and what keeps a session from being found or made. */
export function placesOf({ sessions, pipelines, mounts, recent }: PlacesNeeds): PlaceOf {
  const { reads } = sessions

  /** The mount of a project has to be wished for when the session is made. */
  async function mountOf({ name, config }: McpServer, owner: string, tenantId: string) {
    if (config.box.host_path_mode !== 'rw') return null
    return (await planLaunch(name, config, hostLook(mounts, { tenantId, owner }))).mount
  }

  async function conversation(server: McpServer, { caller, target }: Asking, signal: AbortSignal): Promise<SessionRow> {
    if (target === null) throw unnamed('session', `the MCP server ${JSON.stringify(server.name)} runs in a conversation's box; name it`)
    const find = () => ('id' in target ? reads.open(caller, 'exec', target.id) : getOrCreate(server, caller, target, signal))
    // Who may not make one is told so each time.
    const mayRecall = 'id' in target || caller.mayCreate(target.owner ?? caller.owner, target.ownerGroup ?? null)
    const session = mayRecall ? await recent.recall(nameOf(server, caller, target), find) : await find()
    await reads.allow(caller, 'exec', session)
    return session
  }

  async function getOrCreate(server: McpServer, caller: Caller, target: SessionRequest, signal: AbortSignal): Promise<SessionRow> {
    const mount = await mountOf(server, target.owner ?? caller.owner, caller.visibility.tenantId)
    const wish = { ...target.wish, ...conversationWish(server.config.box, { mount }) }
    const { session } = await sessions.getOrCreate(caller, { ...target, wish }, signal).catch((cause: unknown) => {
      throw failureOf(cause, { server: server.name, scope: server.scope, phase: 'session_create', stderr: '', isCutOff: false }).error
    })
    return session
  }

  return async (server, asking, signal) => {
    const { scope } = server
    if (scope === 'session') {
      const session = await conversation(server, asking, signal)
      return { scope, place: `session ${session.id}`, scopeKey: session.key, session, pipeline: null }
    }
    checkMayUse(asking.caller)
    if (scope !== 'pipeline') return { scope, place: scope, scopeKey: scope, session: null, pipeline: null }
    const { pipeline } = asking
    if (pipeline === undefined)
      throw unnamed('pipeline', `the MCP server ${JSON.stringify(server.name)} is shared by those of a pipeline; name it`)
    await pipelines.resolve(asking.caller.visibility.tenantId, pipeline)
    return { scope, place: `pipeline ${pipeline}`, scopeKey: pipeline, session: null, pipeline }
  }
}

/** Whoever asks by the same name finds the same, and what the server needs of a session is compared with the same wish. */
function nameOf({ tenantId, name, updatedAt }: McpServer, { owner, visibility }: Caller, target: Target): string {
  return JSON.stringify([tenantId, name, updatedAt, owner, visibility, target])
}

/** Whoever may run commands of its own may use what runs for all. */
function checkMayUse(caller: Caller): void {
  if (!caller.may('exec', { owner: caller.owner, ownerGroup: null }))
    throw new HoldfastError('forbidden', 'you may see this MCP server, but not use it', { verb: 'exec' })
}

function unnamed(field: string, problem: string): HoldfastError {
  return new HoldfastError('invalid_request', `${field}: ${problem}`, { problems: [{ field, problem }] })
}
