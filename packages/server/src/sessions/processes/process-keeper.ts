/**
 * Starts processes again that have ended and are to run: after their pause, in their session, under their name.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Nothing is remembered here but timers: what is due follows from the rows, so a start of the server after any crash finds the same. A
 * restart is counted in the transaction that writes its execution down, so none is counted twice and none is made that was called off.
 */
import { HoldfastError, isHoldfastError, MAXIMUM_BACKOFF_MS } from '@holdfast/protocol'
import type { Sealing } from '../../home/sealing.ts'
import type { Store } from '../../store/store.ts'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import {
  countRestart,
  endRestart,
  endRestarts,
  findRestart,
  keptRestarts,
  sessionsWithRestarts,
} from '../../store/tables/process-restarts.ts'
import type { RestartRow } from '../../store/tables/process-restarts.ts'
import { findProcess, oldProcesses } from '../../store/tables/processes.ts'
import type { SessionRef, SessionRow } from '../../store/tables/sessions.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import { SYSTEM } from '../caller.ts'
import type { Caller } from '../caller.ts'
import { removeExecutions } from '../executions/remove-executions.ts'
import { isLive } from '../lifecycle/state.ts'
import type { Running } from '../running.ts'
import type { SessionReads } from '../session-reads.ts'
import type { StoreRetries } from '../until-stored.ts'
import { isOver, nextStartAt, restartsInARow } from './restarting.ts'
import { openCommand } from './sealed-command.ts'

export interface ProcessKeeper {
  /** Something happened to this session or its processes. */
  look(ref: SessionRef): void
  /** Goes on with what an earlier life of this server left. */
  recover(): Promise<void>
  /** Starts nothing more: the next start of the server does. */
  stop(): void
}

export interface ProcessKeeperNeeds {
  readonly store: Store
  readonly retries: Pick<StoreRetries, 'untilStored'>
  readonly sealing: Sealing
  readonly reads: Pick<SessionReads, 'hosted'>
  readonly running: Pick<Running, 'start'>
  readonly serverId: string
  /** Where long outputs are kept. */
  readonly outputDirectory: string
  readonly clock: () => number
  readonly log: Log
  /** After a start that was refused; twice as long after each further one. */
  readonly retryMs?: number
}

const RETRY_MS = 1_000
/** Executions of one name that are remembered. */
const MAXIMUM_KEPT = 20
/** Refusals that pass by themselves end with a start; after these there is nothing to be started any more. */
const FINAL = ['session_closed', 'not_found', 'config_invalid']
/** These are for the server that has the session now, or for the next start of this one. */
const NOT_OURS = ['session_elsewhere', 'server_stopping', 'request_cancelled']

export function createProcessKeeper(needs: ProcessKeeperNeeds): ProcessKeeper {
  const { store, retries, sealing, reads, running, serverId, outputDirectory, clock, log, retryMs = RETRY_MS } = needs
  const timers = new Map<string, NodeJS.Timeout>()
  /** `true`: it came due again meanwhile. */
  const starting = new Map<string, boolean>()
  const stopped = new AbortController()

  function wake(ref: SessionRef, name: string, at: number, refusals = 0): void {
    const key = `${ref.id} ${name}`
    clearTimeout(timers.get(key))
    if (stopped.signal.aborted) return
    const timer = setTimeout(
      () => {
        timers.delete(key)
        void startIfDue(ref, name, refusals)
      },
      Math.max(0, at - clock()),
    )
    timer.unref()
    timers.set(key, timer)
  }

  async function lookAt(ref: SessionRef): Promise<void> {
    const rows = await store.read((sql) => keptRestarts(sql, ref.id))
    if (rows.length === 0) return
    const session = await reads.hosted(ref)
    if (session !== null && !isLive(session.state)) return store.write((transaction) => endRestarts(transaction, ref.id), 'process')
    for (const row of rows) {
      const newest = await store.read((sql) => findProcess(sql, ref, row.name))
      if (newest !== null) await settle(ref, row, newest)
    }
  }

  async function settle(ref: SessionRef, row: RestartRow, newest: ExecutionRow): Promise<void> {
    const at = nextStartAt(row, newest)
    if (at !== null) wake(ref, row.name, at)
    else if (isOver(row, newest)) await store.write((transaction) => endRestart(transaction, ref.id, row.name), 'process')
  }

  async function startIfDue(ref: SessionRef, name: string, refusals: number): Promise<void> {
    const key = `${ref.id} ${name}`
    if (starting.has(key)) return void starting.set(key, true)
    starting.set(key, false)
    try {
      const { row, newest } = await store.read(async (sql) => ({
        row: await findRestart(sql, ref.id, name),
        newest: await findProcess(sql, ref, name),
      }))
      const at = newest === null ? null : nextStartAt(row, newest)
      if (row === null || newest === null || at === null) return
      if (at > clock()) return wake(ref, name, at)
      const session = await reads.hosted(ref)
      if (session !== null && mayStart(session)) await start(session, row, newest)
    } catch (error) {
      await refused(ref, name, error, refusals)
    } finally {
      const isDueAgain = starting.get(key)
      starting.delete(key)
      if (isDueAgain === true) wake(ref, name, clock())
    }
  }

  async function start(session: SessionRow, row: RestartRow, newest: ExecutionRow): Promise<void> {
    const { name } = row
    const command = openCommand(sealing, row)
    const { executionId } = await running.start(
      systemCaller(session.tenantId),
      { id: session.id },
      {
        ...{ name, command },
        async alongside(transaction) {
          if (await countRestart(transaction, row, restartsInARow(row, newest) + 1)) return
          throw new HoldfastError('request_cancelled', 'the process is not to be started again any more')
        },
      },
      stopped.signal,
    )
    await forgetOld(session, name)
    log.info('process-restarted', { session: session.id, process: name, execution: executionId, restarts: row.restarts + 1 })
  }

  /** What fails for ever must not fill the disk for ever. */
  async function forgetOld(ref: SessionRef, name: string): Promise<void> {
    const old = await store.read((sql) => oldProcesses(sql, ref, name, MAXIMUM_KEPT))
    await removeExecutions({ store, outputDirectory }, ref.id, old)
  }

  async function refused(ref: SessionRef, name: string, error: unknown, refusals: number): Promise<void> {
    const fields = { session: ref.id, process: name, error: errorText(error) }
    if (isHoldfastError(error) && NOT_OURS.includes(error.code)) return log.debug('process-not-restarted', fields)
    log[refusals === 0 ? 'warn' : 'debug']('process-not-restarted', fields)
    // That one has its own end, which is looked at.
    if (isHoldfastError(error, 'command_not_started') || isHoldfastError(error, 'name_taken')) return
    if (isHoldfastError(error) && FINAL.includes(error.code))
      await store.write((transaction) => endRestart(transaction, ref.id, name), 'process').catch(() => undefined)
    else wake(ref, name, clock() + Math.min(retryMs * 2 ** Math.min(refusals, 20), MAXIMUM_BACKOFF_MS), refusals + 1)
  }

  const quietly = (ref: SessionRef) =>
    retries
      .untilStored('process-restart', { session: ref.id }, () => lookAt(ref))
      .catch((error: unknown) => log.error('processes-not-looked-at', { session: ref.id, error: errorText(error) }))

  return {
    look: (ref) => void quietly(ref),
    async recover() {
      for (const ref of await store.read((sql) => sessionsWithRestarts(sql, serverId))) await quietly(ref)
    },
    stop() {
      stopped.abort()
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}

/** A session that was suspended on request is left alone until somebody resumes it. */
function mayStart({ state, suspendReason }: SessionRow): boolean {
  return isLive(state) && !(state === 'suspended' && suspendReason === 'caller')
}

/** The server itself, in one session. */
function systemCaller(tenantId: string): Caller {
  return {
    actor: SYSTEM,
    visibility: { tenantId, owner: null, groups: [] },
    owner: SYSTEM.subject,
    mayCreate: () => false,
    may: (verb) => verb === 'exec',
  }
}
