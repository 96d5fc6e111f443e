/**
 * The one way out: drain, kill, prove it, let go of the sandbox, remove the workspace, close the record.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Begun by any `closing` row, whoever wrote it, and begun again after a crash: every step may be repeated. What cannot be proved gone in
 * time is closed as unverified; its sandbox is quarantined and destroyed as soon as that is possible.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isHoldfastError } from '@holdfast/protocol'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { Store } from '../store/store.ts'
import { endExecution, runningExecutions } from '../store/tables/executions.ts'
import { closeSandboxToOthers, findSandbox, quarantineSandbox } from '../store/tables/sandboxes.ts'
import type { Cleanup, SessionRef, SessionRow } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import { SYSTEM } from './caller.ts'
import type { Changes } from './change.ts'
import { removeCredentialDirectory } from './credentials/credential-files.ts'
import type { Cancelling } from './executions/cancelling.ts'
import { KILL_GRACE_MS } from './executions/cancelling.ts'
import type { Evict } from './eviction.ts'
import type { Fleet } from './fleet.ts'
import { inhabitantOf } from './habitats.ts'
import type { Habitats } from './habitats.ts'
import { finishClosing, isDraining } from './lifecycle/closing.ts'
import { CLEANUP_MS } from './lifecycle/deadlines.ts'
import { unchanged } from './lifecycle/step.ts'
import type { EventDraft } from './lifecycle/step.ts'
import type { Provisioning } from './provisioning.ts'
import { backendKind } from './reaper.ts'
import type { SessionReads } from './session-reads.ts'

/** Between attempts while a backend does not answer. */
const RETRY_MS = 2_000

export interface CleanUp {
  /** Cleans up if the session is closing and has nothing to wait for. Resolves when this attempt is over. */
  run(ref: SessionRef): Promise<void>
  /** Begins no further attempt and waits for those under way; the next start goes on with the rest. */
  stop(): Promise<void>
}

export interface CleanUpNeeds {
  readonly store: Store
  readonly reads: SessionReads
  readonly changes: Changes
  readonly fleet: Fleet
  readonly evict: Evict
  readonly provisioning: Provisioning
  readonly cancelling: Cancelling
  readonly habitats: Habitats
  readonly clock: () => number
  readonly log: Log
}

export function createCleanUp(needs: CleanUpNeeds): CleanUp {
  const { store, reads, changes, fleet, evict, provisioning, cancelling, habitats, clock, log } = needs
  const underWay = new Map<string, Promise<void>>()
  /** Asked for again while an attempt was under way. */
  const wanted = new Set<string>()
  const stopped = new AbortController()

  async function attempt(ref: SessionRef): Promise<void> {
    const session = await reads.hosted(ref)
    if (session?.state !== 'closing' || isDraining(session, clock())) return
    const isLate = clock() >= (session.deadlineAt ?? (session.closingAt ?? 0) + CLEANUP_MS)
    const cleanup = await clean(session, isLate)
    await changes.change(ref, { actor: SYSTEM, action: 'session.close' }, async (row, transaction, now) => {
      const finished = finishClosing(row, cleanup, now)
      if (finished.session === row) return unchanged(row)
      if (cleanup.sandbox === 'quarantined' && row.sandboxId !== null) await quarantineSandbox(transaction, row.sandboxId)
      // Whatever had no end of its own ended with the session.
      const ends: EventDraft[] = []
      for (const { id, kind, outputSeq } of await runningExecutions(transaction, row.id)) {
        const end = { status: 'cancelled', exitCode: null, signal: null, endedAt: now, durationMs: null, outputSeq, output: null } as const
        await endExecution(transaction, id, end)
        ends.push({ type: kind === 'process' ? 'process.ended' : 'execution.ended', data: { execution_id: id, status: 'cancelled' } })
      }
      return { session: finished.session, events: [...ends, ...finished.events] }
    })
    log.info('session-closed', { session: ref.id, reason: session.closeReason, verified: cleanup.verified })
  }

  async function clean(session: SessionRow, isLate: boolean): Promise<Cleanup> {
    const { sandboxId } = session
    const live = sandboxId === null ? undefined : fleet.get(sandboxId)
    if (live !== undefined) await removeCredentials(session, live)
    const killed = await cancelling.all(session, live, { processes: true, graceMs: KILL_GRACE_MS })
    const counts = { executions: killed.executions, killed: killed.killed }
    if (await isHostedElsewhere(session)) return { ...counts, verified: false, sandbox: 'kept', workspace: 'kept' }
    try {
      const sandbox = await letGo(session)
      const isKept = session.workspaceOnClose === 'keep'
      if (!isKept) await habitats.remove(session)
      return { ...counts, verified: true, sandbox, workspace: isKept ? 'kept' : 'deleted' }
    } catch (error) {
      if (!isLate) throw error
      log.error('session-not-cleaned', { session: session.id, error: errorText(error) })
      return { ...counts, verified: false, sandbox: 'quarantined', workspace: 'kept' }
    }
  }

  /** First of all, so that nothing that is being killed reads them any more. They go with the sandbox, or its user, in any case. */
  async function removeCredentials(session: SessionRow, live: LiveSandbox): Promise<void> {
    if (session.credentials.every(({ as }) => as !== 'file')) return
    try {
      await removeCredentialDirectory({ inside: await live.connected(), sessionId: session.id, inhabitant: inhabitantOf(session) })
    } catch (error) {
      log.warn('credential-files-not-removed', { session: session.id, error: errorText(error) })
    }
  }

  /** A session taken over while it closed: its sandbox and workspace are on a server that does not answer, which removes them when it is back. */
  async function isHostedElsewhere({ sandboxId, serverId }: SessionRow): Promise<boolean> {
    const row = sandboxId === null ? null : await store.read((sql) => findSandbox(sql, sandboxId))
    return row !== null && row.serverId !== serverId
  }

  /** Its processes are gone afterwards, with the sandbox or out of it. */
  async function letGo(session: SessionRow): Promise<Cleanup['sandbox']> {
    const { id, sandboxId, packUid } = session
    const row = sandboxId === null ? null : await store.read((sql) => findSandbox(sql, sandboxId))
    if (sandboxId === null || row === null) {
      await evict(session)
      return 'none'
    }
    const ref = { id: sandboxId, backend: backendKind(row.backend) }
    if (packUid === null || (await store.write((transaction) => closeSandboxToOthers(transaction, sandboxId, id)))) {
      await fleet.destroy(ref)
      await provisioning.settled(id)
      return 'destroyed'
    }
    await provisioning.settled(id)
    await evict(session)
    return 'kept'
  }

  async function untilDone(ref: SessionRef): Promise<void> {
    while (!stopped.signal.aborted) {
      try {
        return await attempt(ref)
      } catch (error) {
        if (!isHoldfastError(error)) throw error
        log.warn('session-clean-up-delayed', { session: ref.id, error: errorText(error) })
      }
      await delay(RETRY_MS, undefined, { ref: false, signal: stopped.signal }).catch(() => undefined)
    }
  }

  function run(ref: SessionRef): Promise<void> {
    const known = underWay.get(ref.id)
    if (known !== undefined) {
      wanted.add(ref.id)
      return known
    }
    const done = untilDone(ref)
      .catch((error: unknown) => log.error('session-clean-up-failed', { session: ref.id, error: errorText(error) }))
      .finally(() => {
        underWay.delete(ref.id)
        // Its last work may have ended just after the attempt saw it running.
        if (wanted.delete(ref.id)) void run(ref)
      })
    underWay.set(ref.id, done)
    return done
  }

  return {
    run,
    async stop() {
      stopped.abort()
      await Promise.all(underWay.values())
    },
  }
}
