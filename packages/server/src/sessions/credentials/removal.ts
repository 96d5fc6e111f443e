/**
 * Takes credentials out of a sandbox: everything that received them ends, then their files go; then out of the session's row.
 *
 * Starts from the marks in the row (`lifecycle/credentials.ts`) and starts again after a crash: every step may be repeated. A closing session is left to its clean-up.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Store } from '../../store/store.ts'
import { runningReceivers } from '../../store/tables/execution-credentials.ts'
import type { LentCredential, SessionRef, SessionRow } from '../../store/tables/sessions.ts'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import { SYSTEM } from '../caller.ts'
import type { Changes } from '../change.ts'
import type { Cancelling } from '../executions/cancelling.ts'
import type { Executions } from '../executions/executions.ts'
import { inhabitantOf } from '../habitats.ts'
import { finishRemoval } from '../lifecycle/credentials.ts'
import { isLive } from '../lifecycle/state.ts'
import type { Readiness } from '../readiness.ts'
import type { SessionReads } from '../session-reads.ts'
import { removeCredentialDirectory, removeCredentialFiles } from './credential-files.ts'

/** Between attempts while a sandbox does not answer. */
const RETRY_MS = 2_000

export interface CredentialRemoval {
  /** Removes what is marked when this is called. Rejects when the sandbox does not answer; it is tried again in the background. */
  run(ref: SessionRef): Promise<void>
  /** Begins no further attempt; the next start goes on with the rest. */
  stop(): void
}

export interface CredentialRemovalNeeds {
  readonly store: Store
  readonly serverId: string
  readonly reads: Pick<SessionReads, 'hosted'>
  readonly changes: Changes
  readonly readiness: Pick<Readiness, 'reach'>
  readonly executions: Pick<Executions, 'started'>
  readonly cancelling: Pick<Cancelling, 'receivers'>
  readonly log: Log
}

export function createCredentialRemoval(needs: CredentialRemovalNeeds): CredentialRemoval {
  const { store, serverId, reads, changes, readiness, executions, cancelling, log } = needs
  const underWay = new Map<string, Promise<void>>()
  const retries = new Map<string, NodeJS.Timeout>()
  let isStopped = false

  async function attempt(ref: SessionRef): Promise<void> {
    const session = await reads.hosted(ref)
    if (session === null || session.serverId !== serverId || !isLive(session.state)) return
    const marked = session.credentials.filter(isMarked)
    if (marked.length === 0) return
    const live = await readiness.reach(session)
    if (live !== null) await removeFrom(live, session, marked)
    const names = namesOf(marked)
    await changes.change(ref, { actor: SYSTEM, action: 'credential.removed' }, (row) => finishRemoval(row, names))
  }

  async function removeFrom(live: LiveSandbox, session: SessionRow, marked: readonly LentCredential[]): Promise<void> {
    // One that is about to start may still write its files.
    await executions.started(await store.read((sql) => runningReceivers(sql, session.id, namesOf(marked))))
    const ending = namesOf(marked.filter(({ removal }) => removal === 'end'))
    // What cannot be proved dead has taken the sandbox with it.
    if (ending.length > 0 && !(await cancelling.receivers(session, live, ending)).verified) return
    const files = namesOf(marked.filter(({ as }) => as === 'file'))
    const place = { inside: await live.connected(), sessionId: session.id, inhabitant: inhabitantOf(session) }
    try {
      await removeCredentialFiles(place, files).catch(async (error: unknown) => {
        if (!isHoldfastError(error, 'file_operation_failed')) throw error
        // Programs of the session have changed the directory: all of it goes, and the next execution gets a new one.
        await removeCredentialDirectory(place)
      })
    } catch (error) {
      if (!isHoldfastError(error, 'file_operation_failed')) throw error
      await live.destroy()
    }
  }

  function retryLater(ref: SessionRef, error: unknown): void {
    log.warn('credential-removal-delayed', { session: ref.id, error: errorText(error) })
    if (isStopped) return
    clearTimeout(retries.get(ref.id))
    const timer = setTimeout(() => {
      retries.delete(ref.id)
      run(ref).catch(() => undefined)
    }, RETRY_MS)
    timer.unref()
    retries.set(ref.id, timer)
  }

  function run(ref: SessionRef): Promise<void> {
    const known = underWay.get(ref.id)
    // That one may have read the row before the marks of this caller.
    if (known !== undefined)
      return known.then(
        () => run(ref),
        () => run(ref),
      )
    if (isStopped) return Promise.resolve()
    const done = attempt(ref)
      .catch((error: unknown) => {
        retryLater(ref, error)
        throw error
      })
      .finally(() => underWay.delete(ref.id))
    underWay.set(ref.id, done)
    return done
  }

  return {
    run,
    stop() {
      isStopped = true
      for (const timer of retries.values()) clearTimeout(timer)
    },
  }
}

/** It waits to be taken out of the sandbox. */
export function isMarked({ removal }: LentCredential): boolean {
  return removal !== null
}

function namesOf(credentials: readonly LentCredential[]): readonly string[] {
  return credentials.map(({ name }) => name)
}
