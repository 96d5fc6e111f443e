/**
 * One MCP server in one place: started once for all who ask, watched, and ended.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Who asks while it starts waits for the same start, and whoever leaves does not end it. A failed start is tried again where that can
 * help; then everybody who asks is told of it for a while, so that a server that cannot run is not started without end. One that ended
 * is started by whoever asks next.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { McpPhase, McpRunView } from '@holdfast/protocol/mcp'
import { unlessAborted } from '../../sessions/waiting.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import type { Log } from '../../telemetry/log.ts'
import { errorText } from '../../telemetry/log.ts'
import type { McpServer } from '../servers/mcp-servers.ts'
import type { SharedServer } from '../share/shared-server.ts'
import { boxCaller } from './box-caller.ts'
import { HEALTH_RULES, watchHealth } from './health.ts'
import type { Health, HealthRules } from './health.ts'
import type { Launched, LaunchServer, LaunchWish } from './launch-server.ts'
import { listTools } from './list-tools.ts'
import { pause } from './pause.ts'
import type { Place } from './place.ts'
import { failureOf } from './run-failure.ts'
import type { RunFailure } from './run-failure.ts'
import type { Complaints } from './server-lines-of.ts'
import { createRunLog } from './run-log.ts'
import type { RunLog } from './run-log.ts'
import { runView } from './run-view.ts'
import { sharedStart } from './shared-start.ts'

/** Between a failed start and the next. */
export const RETRY_MS: readonly number[] = [2_000, 4_000, 8_000]
/** For so long a failure is the answer. */
const COOL_DOWN_MS = 30_000
/** Whoever ran for so long has not failed to start. */
const STEADY_MS = 60_000

export interface ServerRun {
  readonly server: McpServer
  readonly place: Place
  readonly log: RunLog
  /** When somebody asked for it last. */
  readonly usedAt: number
  /** Nobody is connected and nothing is under way. */
  readonly isUnused: boolean
  readonly executionId: string | null
  readonly session: SessionRow | null
  /** `tries`: after so many that failed, this one does not wait for more; others may. */
  open(caller: LaunchWish['caller'], place: Place, signal: AbortSignal, tries?: number): Promise<SharedServer>
  /** Goes on with what an earlier life left running in this session. `false`: nothing of it runs. */
  takeUp(session: SessionRow): Promise<boolean>
  view(): Omit<McpRunView, 'pid'>
  /** Ends what it started, and what is being started. */
  stop(): Promise<void>
  /** Lets go of it: it runs on. */
  letGo(): void
}

export interface ServerRunNeeds {
  readonly launching: LaunchServer
  readonly clock: () => number
  readonly log: Log
  readonly retryMs?: readonly number[] | undefined
  readonly healthRules?: HealthRules | undefined
  /** Its process, where it runs. */
  end(run: ServerRun, session: SessionRow): Promise<void>
  /** It ended without being asked to: what it left behind is ended too. */
  afterEnd(run: ServerRun, session: SessionRow, executionId: string): Promise<void>
}

/** A server never widens the box of its conversation, whatever it asks for. */
function isCutOff({ config }: McpServer, { session }: Place): boolean {
  return session !== null && config.box.network === 'on' && (session.wish.network ?? 'off') === 'off'
}

export function createServerRun(needs: ServerRunNeeds, server: McpServer, first: Place): ServerRun {
  const { launching, clock, log, retryMs = RETRY_MS, healthRules = HEALTH_RULES } = needs
  const runLog = createRunLog(clock)
  const over = new AbortController()
  let place = first
  let phase: McpPhase = 'session_create'
  let state: McpRunView['state'] = 'starting'
  let failure: RunFailure | null = null
  let failedUntil = 0
  let attempts = 0
  /** Ends in a row that came soon after it was ready. */
  let quickEnds = 0
  let session = first.session
  let complaints: Complaints | null = null
  let launched: Launched | null = null
  let readyAt: number | null = null
  let startedAt = clock()
  let usedAt = clock()
  let tools: number | null = null
  let health: Health | null = null
  /** What has to be over before it is started again. */
  let clearing: Promise<void> = Promise.resolve()
  const starts = sharedStart<SharedServer>()

  const wishOf = (caller: LaunchWish['caller'], firstWord: LaunchWish['firstWord']): LaunchWish => ({
    ...{ server, place, caller, runLog, firstWord },
    onPhase(next, found) {
      phase = next
      session = found ?? session
    },
    onComplaints: (heard) => (complaints = heard),
  })

  function failed(cause: unknown): RunFailure {
    const asked = { server: server.name, scope: place.scope, phase, stderr: complaints?.stderr ?? '' }
    const found = failureOf(cause, { ...asked, isCutOff: isCutOff(server, place) })
    failure = found
    attempts += 1
    runLog.note(`${found.phase}: ${found.reason}`)
    if (over.signal.aborted) return found
    log.warn('mcp-server-not-started', {
      ...{ tenant: server.tenantId, server: server.name, session: session?.id, phase: found.phase, code: found.error.code, attempts },
      ...(found.error.code === 'internal' ? { error: errorText(cause) } : {}),
    })
    return found
  }

  function giveUp({ error }: RunFailure): never {
    state = 'failed'
    failedUntil = clock() + COOL_DOWN_MS
    throw error
  }

  /** From here on it is looked after by its own end. */
  function ready(found: Launched): SharedServer {
    const { shared } = found
    launched = found
    session = found.session
    phase = 'runtime'
    state = 'ready'
    failure = null
    attempts = 0
    readyAt = clock()
    startedAt = found.startedAt
    runLog.note('ready')
    health = watchHealth({ shared, clock, rules: healthRules, onSilent: () => silent(found) })
    void shared.ended.then((reason) => ended(found, reason))
    listTools(shared).then(
      (listed) => (tools = listed.length),
      () => undefined,
    )
    return shared
  }

  function forgetLaunched(): void {
    launched = null
    tools = null
    health = null
  }

  /** It runs and says nothing: it is ended, and whoever asks next starts it anew. */
  function silent(found: Launched): void {
    if (launched !== found || over.signal.aborted) return
    forgetLaunched()
    const { error } = failed(
      new HoldfastError('mcp_request_timed_out', `the MCP server was asked ${healthRules.questions} times and said nothing`),
    )
    state = 'failed'
    found.shared.close(error)
    clearing = needs.end(run, found.session).catch((cause: unknown) => {
      log.warn('mcp-server-not-stopped', { server: server.name, error: errorText(cause) })
    })
  }

  async function ended(found: Launched, reason: HoldfastError): Promise<void> {
    if (launched !== found || over.signal.aborted) return
    forgetLaunched()
    state = 'stopped'
    // Let go of with the server itself, it runs on.
    if (reason.code === 'server_stopping') return
    const { status } = await found.lines.ended.catch(() => ({ status: 'lost' as const }))
    void needs
      .afterEnd(run, found.session, found.executionId)
      .catch((error: unknown) => log.warn('mcp-server-not-cleared', { server: server.name, error: errorText(error) }))
    if (status === 'cancelled' || status === 'lost') return runLog.note('it was ended with its box, or by somebody')
    // Somebody asked for it meanwhile: what is told from now on is how the new one does.
    if (launched !== null || starts.underWay !== null) return
    quickEnds = readyAt !== null && clock() - readyAt < STEADY_MS ? quickEnds + 1 : 0
    failed(reason)
    state = 'failed'
    if (quickEnds <= retryMs.length) return
    quickEnds = 0
    failedUntil = clock() + COOL_DOWN_MS
  }

  async function start(caller: LaunchWish['caller']): Promise<SharedServer> {
    state = 'starting'
    await clearing
    let firstWord: LaunchWish['firstWord'] = 'discover'
    for (let attempt = 0; ; attempt += 1) {
      complaints = null
      try {
        return ready(await launching.launch(wishOf(caller, firstWord), over.signal))
      } catch (cause) {
        const found = failed(cause)
        // Some servers of before end at a first word that they do not know.
        if (phase === 'mcp_init' && isHoldfastError(cause, 'mcp_server_exited')) firstWord = 'initialize'
        starts.failed(found.error)
        const waitMs = retryMs[attempt]
        if (over.signal.aborted || !found.mayPass || waitMs === undefined) giveUp(found)
        runLog.note(`it is tried again in ${waitMs / 1000} seconds`)
        await pause(waitMs, over.signal)
        if (over.signal.aborted) giveUp(found)
      }
    }
  }

  const run: ServerRun = {
    server,
    log: runLog,
    get place() {
      return place
    },
    get usedAt() {
      return usedAt
    },
    get isUnused() {
      return starts.underWay === null && (launched === null || (launched.shared.counts.clients === 0 && launched.shared.counts.calls === 0))
    },
    get executionId() {
      return launched?.executionId ?? null
    },
    get session() {
      return session
    },
    async open(caller, asked, signal, tries = Infinity) {
      if (over.signal.aborted) throw stopped()
      usedAt = clock()
      if (launched !== null && !launched.shared.isOver) return launched.shared
      if (failure !== null && failedUntil > clock()) throw failure.error
      place = asked
      const work = starts.join(() => start(caller))
      return unlessAborted(starts.orAfter(tries, work), signal)
    },
    async takeUp(found) {
      if (launched !== null) return true
      try {
        await starts.join(async () => {
          const taken = await launching.takeUp(wishOf(boxCaller(found.tenantId), 'discover'), found, over.signal)
          if (taken === null) throw new HoldfastError('execution_ended', 'it does not run any more')
          return ready(taken)
        })
        return true
      } catch (error) {
        state = 'stopped'
        if (!isHoldfastError(error, 'execution_ended')) throw error
        return false
      }
    },
    view: () => runView({ server, place, session, phase, state, attempts, failure, startedAt, readyAt, health, launched, tools }),
    async stop() {
      over.abort()
      launched?.shared.close(stopped())
      await starts.underWay?.catch(() => undefined)
      state = 'stopped'
      forgetLaunched()
      await clearing
      if (session !== null) await needs.end(run, session)
    },
    letGo() {
      over.abort()
      launched?.shared.close()
    },
  }
  return run
}

function stopped(): HoldfastError {
  return new HoldfastError('mcp_server_exited', 'the MCP server was stopped')
}
