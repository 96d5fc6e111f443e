/**
 * Commands in a session: started in its ready sandbox, attended by a caller, or left to run.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { SessionView } from '@holdfast/protocol'
import type { OutputChunk } from '../guest/inside.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { AttendedBy } from '../store/tables/execution-input.ts'
import { findExecution, listExecutions, sessionOfExecution, storedOutput } from '../store/tables/executions.ts'
import type { ExecutionRow } from '../store/tables/executions.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import type { AbandonedExecutions, Attendant } from './abandoned-executions.ts'
import { LEFT_RUNNING } from './attendance.ts'
import type { Caller } from './caller.ts'
import type { Cancelling, Killed } from './executions/cancelling.ts'
import { checkCommand } from './executions/command.ts'
import type { Command } from './executions/command.ts'
import { timedCommand } from './executions/command-time.ts'
import type { CommandEnd, Executions, OnChunk, RunningExecution, StartedExecution } from './executions/executions.ts'
import { openStoredOutput } from './executions/output-log.ts'
import type { OutputLog, StoredOutput } from './executions/output-log.ts'
import type { Fleet } from './fleet.ts'
import type { GetOrCreate, SessionRequest } from './getting.ts'
import { inhabitantOf } from './habitats.ts'
import { FULL_NOTICE } from './lifecycle/notice.ts'
import type { Readiness } from './readiness.ts'
import type { ServerLease } from './server-lease.ts'
import type { SessionReads } from './session-reads.ts'
import type { WorkspaceQuota } from './workspace-quota/workspace-quota.ts'

/** A session that exists, or one that is made if need be. */
export type Target = { readonly id: string } | SessionRequest

export interface RunRequest {
  readonly command: Command
  /** For a command that names no time, where its profile has none either; left out, it needs none. */
  readonly usualTimeoutMs?: number | undefined
  /** A named process lives on until it is ended or its session is. */
  readonly name?: string | undefined
  readonly expectedIncarnation?: number | undefined
  /** Somebody is at its terminal from the start. */
  readonly isAttended?: boolean | undefined
  /** It waits for who reads its output. */
  readonly waitsForReader?: boolean | undefined
  /** The id of its execution, where the request can be repeated after a crash; left out, a new one. */
  readonly executionId?: string | undefined
  /** Reads a named process that is left to run, from its first byte; a promise is back-pressure on it. */
  readonly onOutput?: OnChunk | undefined
  /** Written in the transaction that writes its record; what it throws keeps it from being started. */
  readonly alongside?: ((transaction: Transaction) => Promise<void>) | undefined
}

export interface Started {
  readonly executionId: string
  /** `null`: none. */
  readonly timeoutMs: number | null
  /** Once it has ended, with what its end is to be told with. */
  readonly session: SessionView
  /** Reads the output to the end. A slow `onChunk` is back-pressure on the program. Call it once. */
  finish(onChunk: (chunk: OutputChunk) => void | Promise<void>): Promise<CommandEnd>
}

export interface Running {
  /**
   * Starts the command and hands it to `attend`. When `signal` fires, before or after the start, its whole process tree is killed; unless
   * the server stops, whose next start waits for the caller to come back.
   */
  run<T>(caller: Caller, target: Target, request: RunRequest, signal: AbortSignal, attend: (started: Started) => Promise<T>): Promise<T>
  /** Goes on with one that an earlier server started for the same request, from its first byte. `null`: it was never started. */
  resume<T>(caller: Caller, executionId: string, signal: AbortSignal, attend: (started: Started) => Promise<T>): Promise<T | null>
  /** Starts it and leaves it running; its output is kept for readers. */
  start(
    caller: Caller,
    target: Target,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<{ readonly executionId: string; readonly session: SessionView }>
  get(caller: Caller, sessionId: string, executionId: string): Promise<ExecutionRow>
  list(
    caller: Caller,
    sessionId: string,
    after: { readonly startedAt: number; readonly id: string } | null,
    limit: number,
  ): Promise<readonly ExecutionRow[]>
  /** What it printed, as far as it is kept; of a running one the log can be followed. */
  output(caller: Caller, sessionId: string, executionId: string): Promise<StoredOutput | OutputLog>
  /** Kills its whole tree. An ended one is left as it is. */
  cancel(caller: Caller, sessionId: string, executionId: string, graceMs?: number): Promise<Killed>
}

export interface RunningNeeds {
  readonly store: Store
  readonly reads: SessionReads
  readonly getOrCreate: GetOrCreate
  readonly readiness: Readiness
  readonly executions: Executions
  readonly cancelling: Cancelling
  readonly fleet: Fleet
  readonly lease: ServerLease
  readonly outputDirectory: string
  readonly workspaceQuota: Pick<WorkspaceQuota, 'admit'>
  readonly abandoned: Pick<AbandonedExecutions, 'visit'>
}

/** A session may be suspended or lost between being ready and being used. */
const MAX_STARTS = 4

export function createRunning(needs: RunningNeeds): Running {
  const { store, reads, getOrCreate, readiness, executions, cancelling, fleet, lease, outputDirectory, workspaceQuota, abandoned } = needs

  async function sessionOf(caller: Caller, target: Target, signal: AbortSignal): Promise<SessionRow> {
    if ('id' in target) return reads.open(caller, 'exec', target.id)
    const { session } = await getOrCreate(caller, target, signal)
    await reads.allow(caller, 'exec', session)
    return session
  }

  async function begin(
    caller: Caller,
    target: Target,
    request: RunRequest,
    attendedBy: AttendedBy,
    signal: AbortSignal,
  ): Promise<StartedExecution> {
    checkCommand(request.command)
    let session = await sessionOf(caller, target, signal)
    for (let start = 1; ; start += 1) {
      const ready = await readiness.ensure(session, caller.actor, request.expectedIncarnation, signal)
      if (signal.aborted) throw new HoldfastError('request_cancelled', 'the caller left before the command was started')
      try {
        await workspaceQuota.admit(ready.session)
        return await executions.start(ready.session, ready.live, {
          command: timedCommand(request, ready.session.wish),
          kind: request.name === undefined ? 'command' : 'process',
          name: request.name ?? null,
          actor: caller.actor,
          inhabitant: inhabitantOf(ready.session),
          expectedIncarnation: request.expectedIncarnation,
          attendedBy,
          id: request.executionId,
          alongside: request.alongside,
        })
      } catch (error) {
        if (!isHoldfastError(error, 'session_unavailable') || start === MAX_STARTS) throw error
        session = await reads.open(caller, 'exec', session.id)
      }
    }
  }

  async function executionOf(caller: Caller, verb: 'read' | 'read-output' | 'exec', sessionId: string, id: string) {
    const session = await reads.open(caller, verb, sessionId)
    const row = await store.read((sql) => findExecution(sql, session.tenantId, session.id, id))
    if (row === null) throw new HoldfastError('not_found', 'there is no such execution in this session')
    return { session, row }
  }

  async function readToEnd(
    caller: Caller,
    sessionId: string,
    id: string,
    onChunk: (chunk: OutputChunk) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<CommandEnd> {
    const running = await executions.runningOnceStarted(id)
    const { session, row } = await executionOf(caller, 'exec', sessionId, id)
    if (running === undefined && row.status === 'running') {
      await lease.claimOn(session)
      throw new HoldfastError('session_unavailable', 'the sandbox of this execution does not answer at the moment')
    }
    const blob = running === undefined ? await store.read((sql) => storedOutput(sql, id)) : null
    const stored = openStoredOutput({ directory: outputDirectory, id, blob, seq: row.outputSeq, startTime: row.startedAt })
    const pages = running === undefined ? [await stored.read(0)] : running.log.follow(0, signal)
    let skipped = 0
    for await (const { chunks, skippedBytes } of pages) {
      skipped += skippedBytes
      for (const chunk of chunks) await onChunk(chunk)
    }
    if (signal.aborted) throw new HoldfastError('request_cancelled', 'the caller left before the command ended')
    return { ...(running === undefined ? row : await running.finished), skippedBytes: skipped }
  }

  return {
    async run(caller, target, request, signal, attend) {
      const started = await begin(caller, target, request, 'caller', signal)
      let running: RunningExecution | null = null
      let view = viewOf(started.session)
      const left = Promise.withResolvers<never>()
      left.promise.catch(() => undefined)
      const cancel = () => {
        running ??= started.follow()
        if (signal.reason === LEFT_RUNNING) return left.reject(leftRunning(started))
        void cancelling.one(running, running.live, 0).catch(() => undefined)
      }
      if (signal.aborted) cancel()
      signal.addEventListener('abort', cancel, { once: true })
      try {
        return await attend({
          executionId: started.id,
          timeoutMs: started.timeoutMs,
          get session() {
            return view
          },
          async finish(onChunk) {
            running ??= started.follow(onChunk)
            const end = await Promise.race([running.finished, left.promise])
            if (end.status === 'workspace_full') view = { ...view, notice: FULL_NOTICE }
            return end
          },
        })
      } finally {
        signal.removeEventListener('abort', cancel)
        // Nobody read it: it must not stand still for ever behind a full pipe.
        running ??= started.follow()
      }
    },
    async start(caller, target, request, signal) {
      const by = request.isAttended === true ? 'client' : request.waitsForReader === true ? 'reader' : 'nobody'
      const started = await begin(caller, target, request, by, signal)
      started.follow(request.onOutput)
      return { executionId: started.id, session: viewOf(started.session) }
    },
    async resume(caller, id, signal, attend) {
      const sessionId = await store.read((sql) => sessionOfExecution(sql, caller.visibility.tenantId, id))
      if (sessionId === null) return null
      const { session, row } = await executionOf(caller, 'exec', sessionId, id)
      const attendant = abandoned.visit(id)
      try {
        return await attend({
          executionId: id,
          timeoutMs: row.timeoutMs,
          session: viewOf(session),
          finish: (onChunk) => readToEnd(caller, sessionId, id, onChunk, signal),
        })
      } finally {
        await attendant?.leave('gone')
      }
    },
    async get(caller, sessionId, id) {
      const { row } = await executionOf(caller, 'read', sessionId, id)
      // Who asks how it is has come back for it.
      await abandoned.visit(id)?.leave('gone')
      return row
    },
    async list(caller, sessionId, after, limit) {
      const session = await reads.open(caller, 'read', sessionId)
      return store.read((sql) => listExecutions(sql, session.tenantId, session.id, after, limit))
    },
    async output(caller, sessionId, id) {
      const { session, row } = await executionOf(caller, 'read-output', sessionId, id)
      const running = executions.running(id)
      if (running !== undefined) return attendedLog(running, () => abandoned.visit(id))
      const blob = await store.read((sql) => storedOutput(sql, id))
      // What is not in the store is on its host, if anywhere.
      if (blob === null) await lease.claimOn(session)
      return openStoredOutput({ directory: outputDirectory, id, blob, seq: row.outputSeq, startTime: row.startedAt })
    },
    async cancel(caller, sessionId, id, graceMs) {
      const { session, row } = await executionOf(caller, 'exec', sessionId, id)
      if (row.status !== 'running') {
        const live = fleet.get(row.sandboxId)
        return live === undefined ? { executions: 0, killed: 0, verified: true } : cancelling.leftOf(row, live, graceMs)
      }
      const live = (await readiness.reach(session)) ?? fleet.get(row.sandboxId)
      return cancelling.one(row, live, graceMs)
    },
  }
}

/** The caller can come back for it with the ids, or with its Idempotency-Key. */
function leftRunning({ id, session }: StartedExecution): HoldfastError {
  const message = 'the server stops; the command runs on, and is cancelled unless its caller comes back for it after the next start'
  return new HoldfastError('server_stopping', message, { session_id: session.id, execution_id: id })
}

/** Who follows the output of an execution attends it for as long. */
function attendedLog({ log, hold }: RunningExecution, visit: () => Attendant | null): OutputLog {
  return {
    isHeld: hold !== null,
    get isWaiting() {
      return hold?.isWaiting ?? false
    },
    get seq() {
      return log.seq
    },
    get isClosed() {
      return log.isClosed
    },
    append: (chunk) => log.append(chunk),
    skipTo: (seq) => log.skipTo(seq),
    async *follow(after, signal) {
      const attendant = visit()
      const leave = hold?.read(after)
      try {
        yield* log.follow(after, signal)
      } finally {
        leave?.()
        await attendant?.leave('gone')
      }
    },
    read: (after, limitBytes) => log.read(after, limitBytes),
    close: () => log.close(),
    remove: () => log.remove(),
  }
}

export function viewOf({ id, key, incarnation, workspace, notice }: SessionRow): SessionView {
  return { id, key, incarnation, workspace, ...(notice === null ? {} : { notice }) }
}
