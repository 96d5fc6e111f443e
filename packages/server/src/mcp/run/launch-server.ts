/**
 * An MCP server from its configuration to its first answer, phase by phase; or taken up again where it runs.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * What runs already is not started a second time, also when an earlier life of Holdfast started it: it is attached to, and not greeted
 * again. One start at a time of each server in each place.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { McpPhase } from '@holdfast/protocol/mcp'
import type { SessionMounts } from '../../policy/session-mounts.ts'
import type { Caller } from '../../sessions/caller.ts'
import { checkCompatible } from '../../sessions/compatible.ts'
import { inhabitantOf } from '../../sessions/habitats.ts'
import type { ProcessLines } from '../../sessions/processes/process-lines.ts'
import type { ProcessRow } from '../../sessions/processes/processes.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { Store } from '../../store/store.ts'
import { findMcpRun, putMcpRun } from '../../store/tables/mcp-runs.ts'
import type { McpRunRow } from '../../store/tables/mcp-runs.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import type { Log } from '../../telemetry/log.ts'
import type { McpObserver } from '../../telemetry/observations.ts'
import { hostLook } from '../launch/host-look.ts'
import { installDependencies } from '../launch/install-dependencies.ts'
import { planLaunch } from '../launch/plan.ts'
import type { LaunchPlan } from '../launch/plan.ts'
import { stageProject } from '../launch/stage-project.ts'
import type { McpServer } from '../servers/mcp-servers.ts'
import type { Handshake } from '../share/handshake.ts'
import { shareServer } from '../share/shared-server.ts'
import type { SharedServer } from '../share/shared-server.ts'
import { boxCaller } from './box-caller.ts'
import { conversationWish, ownSession } from './box-wish.ts'
import type { Place } from './place.ts'
import { processNameOf } from './process-name.ts'
import type { RunLog } from './run-log.ts'
import { serverLinesOf } from './server-lines-of.ts'
import type { Complaints } from './server-lines-of.ts'
import { knownHandshake } from './stored-handshake.ts'
import { stopProcess } from './stop-process.ts'

/** For one that was greeted before. */
const CHECK_MS = 10_000
const CLIENT = { name: 'holdfast', version: '1' }

export interface LaunchNeeds {
  readonly store: Store
  readonly sessions: Pick<Sessions, 'getOrCreate' | 'reads' | 'processes' | 'commands' | 'files' | 'endLeftBehind'>
  readonly mounts: SessionMounts
  readonly clock: () => number
  readonly log: Log
  readonly observer: McpObserver
}

export interface LaunchWish {
  readonly server: McpServer
  readonly place: Place
  /** In whose name it is started; the box's own session is never theirs. */
  readonly caller: Caller
  readonly runLog: RunLog
  readonly firstWord: 'discover' | 'initialize'
  onPhase(phase: McpPhase, session: SessionRow | null): void
  /** So that what it complained of can be told, also when it dies at once. */
  readonly onComplaints: (complaints: Complaints) => void
}

export interface Launched {
  readonly session: SessionRow
  readonly executionId: string
  readonly shared: SharedServer
  readonly handshake: Handshake
  readonly lines: ProcessLines
  readonly startedAt: number
}

export interface LaunchServer {
  launch(wish: LaunchWish, signal: AbortSignal): Promise<Launched>
  /** Only what runs already; `null` when that is nothing. */
  takeUp(wish: LaunchWish, session: SessionRow, signal: AbortSignal): Promise<Launched | null>
}

export function launchingServers({ store, sessions, mounts, clock, log, observer }: LaunchNeeds): LaunchServer {
  const { processes, commands, files } = sessions

  async function prepare({ server, place, caller }: LaunchWish, signal: AbortSignal): Promise<Prepared> {
    const { name, config } = server
    if (place.session === null) {
      const own = boxCaller(server.tenantId)
      const plan = await planLaunch(name, config, hostLook(mounts, { tenantId: server.tenantId, owner: own.owner }))
      const { session } = await sessions.getOrCreate(own, ownSession(name, place, config, plan), signal)
      return { session, plan, starter: own }
    }
    const { session } = place
    const box = { ...config.box, network: session.wish.network ?? 'off' }
    const look = hostLook(mounts, session)
    const plan = await planLaunch(name, { ...config, box }, look, inhabitantOf(session)?.workspace)
    checkCompatible({ wish: conversationWish(config.box, plan) }, session)
    return { session, plan, starter: caller }
  }

  /** The process of this name, if it runs. */
  async function runningIn(session: SessionRow, name: string): Promise<ProcessRow | null> {
    try {
      const row = await processes.get(boxCaller(session.tenantId), session.id, name)
      return row.status === 'running' ? row : null
    } catch (error) {
      if (isHoldfastError(error, 'not_found')) return null
      throw error
    }
  }

  async function greet(
    wish: LaunchWish,
    { session, executionId, known }: { readonly session: SessionRow; readonly executionId: string; readonly known: McpRunRow | null },
    signal: AbortSignal,
  ): Promise<Launched> {
    const { server, place, runLog } = wish
    const process = processNameOf(server.name)
    const startedAt = known?.startedAt ?? clock()
    wish.onPhase('relay_connect', session)
    const ref = { sessionId: session.id, name: process, executionId }
    const lines = await serverLinesOf(processes, boxCaller(session.tenantId), ref, (complaints) => {
      wish.onPhase('mcp_init', session)
      wish.onComplaints(complaints)
    })
    const said = known === null ? undefined : knownHandshake(known.handshake)
    const shared = shareServer({
      ...{ lines, clientInfo: CLIENT, clock, log, observer, onLog: runLog.printed, firstWord: wish.firstWord },
      keepsLogsApart: place.scope !== 'session',
      limits: { handshakeMs: server.config.box.startup_timeout_sec * 1000 },
      ...(said === undefined ? {} : { known: said }),
    })
    const letGo = () => shared.close()
    if (signal.aborted) letGo()
    signal.addEventListener('abort', letGo, { once: true })
    try {
      const handshake = await shared.initialized
      if (said !== undefined) await shared.check(CHECK_MS)
      const now = clock()
      const key = { tenantId: server.tenantId, server: server.name, place: place.place }
      const row = { ...key, configuredAt: server.updatedAt, sessionId: session.id, executionId, startedAt }
      const readyAt = said === undefined ? now : (known?.readyAt ?? now)
      await store.write((transaction) => putMcpRun(transaction, { ...row, handshake: { ...handshake }, readyAt }), 'process')
      return { session, executionId, shared, handshake, lines, startedAt }
    } catch (error) {
      shared.close()
      throw error
    } finally {
      signal.removeEventListener('abort', letGo)
    }
  }

  async function takeUp(wish: LaunchWish, session: SessionRow, signal: AbortSignal): Promise<Launched | null> {
    const { server, place } = wish
    const running = await runningIn(session, processNameOf(server.name))
    if (running === null) return null
    const row = await store.read((sql) => findMcpRun(sql, { tenantId: server.tenantId, server: server.name, place: place.place }))
    const isOurs = row?.executionId === running.id && row.configuredAt === server.updatedAt
    if (isOurs) {
      const launched = await greet(wish, { session, executionId: running.id, known: row }, signal).catch((error: unknown) => {
        // That it cannot be reached at the moment is no reason to end it.
        if (!isOfServer(error)) throw error
        wish.runLog.note(`what ran before does not answer any more: ${error.message}`)
        return null
      })
      if (launched !== null) return launched
    }
    await end(wish, session)
    return null
  }

  /** Before there is a process, so that one is found whose start nobody saw the end of; no execution has this id. */
  async function announce({ server, place }: LaunchWish, { id: sessionId }: SessionRow): Promise<void> {
    const key = { tenantId: server.tenantId, server: server.name, place: place.place }
    const row = { ...key, configuredAt: server.updatedAt, sessionId, executionId: '', handshake: null, startedAt: clock(), readyAt: null }
    await store.write((transaction) => putMcpRun(transaction, row), 'process')
  }

  async function end({ server }: LaunchWish, session: SessionRow): Promise<void> {
    await stopProcess(sessions, { caller: boxCaller(session.tenantId), session, process: processNameOf(server.name) })
  }

  async function install({ runLog }: LaunchWish, { session, plan, starter }: Prepared, signal: AbortSignal): Promise<void> {
    const target = { caller: starter, sessionId: session.id }
    if (plan.stage !== null) await stageProject(files, target, plan.stage, runLog.note, signal)
    if (plan.dependencies !== null) await installDependencies({ commands, files }, target, plan.dependencies, runLog.note, signal)
  }

  async function launch(wish: LaunchWish, signal: AbortSignal): Promise<Launched> {
    const { server, runLog } = wish
    wish.onPhase('session_create', null)
    const prepared = await prepare(wish, signal)
    const { session, plan, starter } = prepared
    wish.onPhase('session_create', session)
    const running = await takeUp(wish, session, signal)
    if (running !== null) return running
    for (const told of plan.notes) runLog.note(told)
    wish.onPhase('dep_install', session)
    await install(wish, prepared, signal)
    wish.onPhase('process_start', session)
    if (signal.aborted) throw new HoldfastError('request_cancelled', 'the MCP server is not wanted any more')
    await announce(wish, session)
    const command = { argv: plan.argv, env: plan.env, interactive: true, ...(plan.cwd === null ? {} : { cwd: plan.cwd }) }
    const started = await processes.start(starter, session.id, { name: processNameOf(server.name), command }, signal)
    try {
      return await greet(wish, { session, executionId: started.id, known: null }, signal)
    } catch (error) {
      if (!isLetGo(error)) await end(wish, session).catch(untold)
      throw error
    }
  }

  return { launch, takeUp }
}

/** The process itself is over, or does not speak as it should. */
function isOfServer(error: unknown): error is HoldfastError {
  return isHoldfastError(error) && (error.code.startsWith('mcp_') || error.code === 'execution_ended')
}

/** Whoever does so decides what becomes of the process. */
function isLetGo(error: unknown): boolean {
  return isHoldfastError(error, 'server_stopping')
}

/** Why it failed counts, not that what is left of it cannot be reached; the next start looks for it first. */
function untold(error: unknown): void {
  if (!isHoldfastError(error)) throw error
}

interface Prepared {
  readonly session: SessionRow
  readonly plan: LaunchPlan
  readonly starter: Caller
}
