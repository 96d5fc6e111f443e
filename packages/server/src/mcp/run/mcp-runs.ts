/**
 * All MCP servers that run: found for whoever asks, ended when their configuration changes or nobody uses them any more, and taken up
 * again after a restart of Holdfast.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Never on the host: where no sandbox can be had, the answer is a refusal.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { McpRunView } from '@holdfast/protocol/mcp'
import type { Caller } from '../../sessions/caller.ts'
import { isLive } from '../../sessions/lifecycle/state.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { Store } from '../../store/store.ts'
import { deleteMcpRun, hostedMcpRuns, mcpRunsOfServer } from '../../store/tables/mcp-runs.ts'
import type { McpRunRow } from '../../store/tables/mcp-runs.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import type { McpServer, McpServers } from '../servers/mcp-servers.ts'
import type { SharedServer } from '../share/shared-server.ts'
import { boxCaller } from './box-caller.ts'
import type { LaunchServer } from './launch-server.ts'
import type { Asking, Place, PlaceOf } from './place.ts'
import { processNameOf } from './process-name.ts'
import { createServerRun } from './server-run.ts'
import type { ServerRun } from './server-run.ts'
import { stopProcess } from './stop-process.ts'

/** One that nobody uses for so long is ended, so that it does not keep its session awake for ever. */
const UNUSED_MS = 15 * 60_000
const SWEEP_MS = 60_000
const TAKEN_UP_AT_ONCE = 8
const STATES = ['starting', 'ready', 'failed', 'stopped'] as const
/** How often a configuration may change under somebody who asks. */
const MAXIMUM_TURNS = 4

export interface OpenRequest extends Asking {
  readonly name: string
  /** As it was read a moment ago for this request, and has not to be read again. */
  readonly known?: McpServer | undefined
  /** Hears what is done until it is ready. */
  readonly onProgress?: ((line: string) => void) | undefined
  /** How many tries that fail are waited for; all of them unless given. */
  readonly tries?: number | undefined
}

export interface OpenedMcpServer {
  readonly server: McpServer
  readonly shared: SharedServer
  readonly run: ServerRun
}

export interface McpRuns {
  /** Starts it if it does not run. Throws `not_found`, `mcp_server_disabled`, and the failure of its phase. */
  open(request: OpenRequest, signal: AbortSignal): Promise<OpenedMcpServer>
  /** Throws `not_found` or `forbidden` when this caller may not use it any more. */
  recheck(run: ServerRun, caller: Caller): Promise<void>
  /** How many there are in each state, and their clients. */
  readonly standing: { readonly servers: ReadonlyMap<McpRunView['state'], number>; readonly clients: number }
  /** Those of one server in this process, whoever they are for. */
  of(server: Pick<McpServer, 'tenantId' | 'name'>): readonly ServerRun[]
  view(run: ServerRun): Promise<McpRunView>
  /** Ends whatever runs of it; who asks next starts it anew, in the same box. Failures are forgotten. */
  retire(server: Pick<McpServer, 'tenantId' | 'name'>): Promise<void>
  /** Goes on with what an earlier life of Holdfast left. */
  recover(): Promise<void>
  /** Ends those that nobody uses, and those whose configuration is another by now; the timer does so by itself. */
  sweep(): Promise<void>
  /** Lets go of all: they run on. */
  close(): void
}

export interface McpRunsNeeds {
  readonly store: Store
  readonly servers: Pick<McpServers, 'get'>
  readonly sessions: Pick<Sessions, 'reads' | 'processes' | 'pidOf' | 'endLeftBehind'>
  readonly placeOf: PlaceOf
  readonly launching: LaunchServer
  readonly serverId: string
  readonly clock: () => number
  readonly log: Log
  readonly retryMs?: readonly number[] | undefined
}

export function createMcpRuns(needs: McpRunsNeeds): McpRuns {
  const { store, servers, sessions, placeOf, launching, serverId, clock, log, retryMs } = needs
  const { reads } = sessions
  const runs = new Map<string, ServerRun>()
  /** What is being ended is waited for before the same is started again. */
  const ending = new Map<string, Promise<void>>()
  let isClosed = false

  async function endProcess({ tenantId, name }: Pick<McpServer, 'tenantId' | 'name'>, place: string, session: SessionRow): Promise<void> {
    const caller = boxCaller(session.tenantId)
    await stopProcess(sessions, { caller, session, process: processNameOf(name) })
    await forget({ tenantId, server: name, place })
  }

  async function forget(key: { readonly tenantId: string; readonly server: string; readonly place: string }, executionId?: string) {
    await store.write((transaction) => deleteMcpRun(transaction, key, executionId), 'process')
  }

  function newRun(server: McpServer, place: Place): ServerRun {
    return createServerRun(
      {
        ...{ launching, clock, log, retryMs },
        end: (run, session) => endProcess(run.server, run.place.place, session),
        async afterEnd(run, session, executionId) {
          await sessions.endLeftBehind(session, executionId)
          await forget({ tenantId: server.tenantId, server: server.name, place: run.place.place }, executionId)
        },
      },
      server,
      place,
    )
  }

  /** The newest configuration, and nobody with an older one beside it. */
  async function current(server: McpServer, place: Place): Promise<ServerRun> {
    const key = keyOf(server, place.place)
    for (;;) {
      await ending.get(key)?.catch(() => undefined)
      if (isClosed) throw new HoldfastError('server_stopping', 'the server is being stopped')
      const known = runs.get(key)
      if (known?.server.updatedAt === server.updatedAt) return known
      if (known === undefined) {
        const run = newRun(server, place)
        runs.set(key, run)
        // From here on whoever changes the configuration finds it; a change before is found here.
        if (!(await isConfigured(server))) await stop(key, run)
        return run
      }
      await stop(key, known)
    }
  }

  async function find({ caller, name, known, target, pipeline }: OpenRequest, signal: AbortSignal) {
    const server = known ?? (await servers.get(caller.visibility.tenantId, name))
    if (server.config.disabled)
      throw new HoldfastError('mcp_server_disabled', `the MCP server ${JSON.stringify(name)} is disabled`, { server: name })
    const place = await placeOf(server, { caller, target, pipeline }, signal)
    return { server, place, run: await current(server, place) }
  }

  function stop(key: string, run: ServerRun): Promise<void> {
    runs.delete(key)
    const stopping = run
      .stop()
      .catch((error: unknown) => log.warn('mcp-server-not-stopped', { server: run.server.name, error: errorText(error) }))
      .finally(() => {
        if (ending.get(key) === stopping) ending.delete(key)
      })
    ending.set(key, stopping)
    return stopping
  }

  /** One of a life before, or one that another place of this process does not know of. */
  async function endLeft(row: McpRunRow): Promise<void> {
    const session = await sessionOf(row)
    if (session === null) return forget(row)
    await endProcess({ tenantId: row.tenantId, name: row.server }, row.place, session).catch((error: unknown) => {
      if (!isHoldfastError(error, 'session_elsewhere')) throw error
      log.info('mcp-server-elsewhere', { server: row.server, session: row.sessionId })
    })
  }

  const sessionOf = (row: McpRunRow): Promise<SessionRow | null> => reads.hosted({ id: row.sessionId, tenantId: row.tenantId })

  async function takeUp(row: McpRunRow): Promise<void> {
    const server = await servers.get(row.tenantId, row.server).catch(unlessMissing)
    const session = await sessionOf(row)
    if (session === null) return forget(row)
    if (server === null || server.updatedAt !== row.configuredAt || server.config.disabled) return endLeft(row)
    const run = await current(server, placeOfRow(server, row, session))
    if (!(await run.takeUp(session))) await forget(row, row.executionId)
  }

  const sweeping = setInterval(
    () => void sweep().catch((error: unknown) => log.warn('mcp-sweep-failed', { error: errorText(error) })),
    SWEEP_MS,
  )
  sweeping.unref()

  async function sweep(): Promise<void> {
    for (const [key, run] of runs)
      if ((run.isUnused && (clock() - run.usedAt > UNUSED_MS || (await isHomeless(run)))) || !(await isConfigured(run.server)))
        await stop(key, run)
  }

  /** Its session is over, and it will not be asked for again. */
  async function isHomeless({ place, session }: ServerRun): Promise<boolean> {
    if (place.scope !== 'session' || session === null) return false
    const row = await reads.hosted(session)
    return row === null || !isLive(row.state)
  }

  /** Another Holdfast server may have changed it. */
  async function isConfigured({ tenantId, name, updatedAt }: McpServer): Promise<boolean> {
    const server = await servers.get(tenantId, name).catch(unlessMissing)
    return server?.updatedAt === updatedAt && !server.config.disabled
  }

  return {
    async open(request, signal) {
      for (let turn = 1; ; turn += 1) {
        const { server, place, run } = await find(turn === 1 ? request : { ...request, known: undefined }, signal)
        const unlisten = request.onProgress === undefined ? undefined : run.log.listen(request.onProgress)
        try {
          return { server, run, shared: await run.open(request.caller, place, signal, request.tries) }
        } catch (error) {
          // Another configuration took its place meanwhile, which may do better.
          const isReplaced = !isClosed && runs.get(keyOf(server, place.place)) !== run
          if (!isReplaced || signal.aborted || turn === MAXIMUM_TURNS) throw error
        } finally {
          unlisten?.()
        }
      }
    },
    async recheck({ place, session }, caller) {
      if (place.scope === 'session' && session !== null) await reads.open(caller, 'exec', session.id)
    },
    get standing() {
      const views = [...runs.values()].map((run) => run.view())
      const inState = (state: McpRunView['state']) => [state, views.filter((view) => view.state === state).length] as const
      return { servers: new Map(STATES.map(inState)), clients: views.reduce((sum, { clients }) => sum + clients, 0) }
    },
    of: ({ tenantId, name }) => [...runs.values()].filter(({ server }) => server.tenantId === tenantId && server.name === name),
    async view(run) {
      const { executionId } = run
      return { ...run.view(), pid: executionId === null ? null : await sessions.pidOf(executionId) }
    },
    async retire({ tenantId, name }) {
      const known = [...runs].filter(([, { server }]) => server.tenantId === tenantId && server.name === name)
      await Promise.all(known.map(([key, run]) => stop(key, run)))
      for (const row of await store.read((sql) => mcpRunsOfServer(sql, tenantId, name)))
        await endLeft(row).catch((error: unknown) => log.warn('mcp-server-not-stopped', { server: name, error: errorText(error) }))
    },
    async recover() {
      const rows = (await store.read((sql) => hostedMcpRuns(sql, serverId))).values()
      const takeUpAll = async () => {
        for (const row of rows)
          await takeUp(row).catch((error: unknown) => log.warn('mcp-server-not-taken-up', { server: row.server, error: errorText(error) }))
      }
      await Promise.all(Array.from({ length: TAKEN_UP_AT_ONCE }, takeUpAll))
    },
    sweep,
    close() {
      isClosed = true
      clearInterval(sweeping)
      for (const run of runs.values()) run.letGo()
      runs.clear()
    },
  }
}

function keyOf({ tenantId, name }: Pick<McpServer, 'tenantId' | 'name'>, place: string): string {
  return `${tenantId} ${name} ${place}`
}

function placeOfRow({ scope }: McpServer, { place }: McpRunRow, session: SessionRow): Place {
  const rest = place.slice(place.indexOf(' ') + 1)
  if (scope === 'session') return { scope, place, scopeKey: session.key, session, pipeline: null }
  return { scope, place, scopeKey: rest, session: null, pipeline: scope === 'pipeline' ? rest : null }
}

function unlessMissing(error: unknown): null {
  if (isHoldfastError(error, 'not_found')) return null
  throw error
}

/** Of whom the caller may see the session; a box of the server's own is there for all who see the server. */
export async function isVisible(reads: Pick<Sessions['reads'], 'hosted'>, caller: Caller, { session, place }: ServerRun): Promise<boolean> {
  if (place.scope !== 'session') return true
  const row = session === null ? null : await reads.hosted(session)
  if (row === null || row.tenantId !== caller.visibility.tenantId) return false
  const { owner, groups } = caller.visibility
  return owner === null || row.owner === owner || (row.ownerGroup !== null && groups.includes(row.ownerGroup))
}
