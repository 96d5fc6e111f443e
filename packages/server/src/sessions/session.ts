/**
 * One session: a caller's key, its workspace, and at most one live sandbox at a time.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Creation is single-flight: callers that meet while a sandbox is being made share it. A sandbox that died or idled out
 * is replaced at the next call over the same workspace, `incarnation` grows, and the callers that waited for it are told.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SandboxWish, SessionView } from '@holdfast/protocol'
import { randomId } from '../home/random-id.ts'
import type { SandboxBackend } from '../sandboxes/backend.ts'
import { launchSandbox } from '../sandboxes/live-sandbox.ts'
import type { LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { SandboxSpec } from '../sandboxes/spec.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import { checkCompatible } from './compatible.ts'
import type { SessionRecord, Workspaces } from './workspaces.ts'

export interface SessionNeeds {
  readonly backend: SandboxBackend
  /** Policy's answer to a wish, with this host directory as the workspace. */
  specFor(wish: SandboxWish, workspaceFiles: string): Promise<SandboxSpec>
  readonly workspaces: Workspaces
  readonly log: Log
  readonly idleMs: number
  /** Takes one of the server's places for sandboxes, or throws `capacity_exhausted`; the answer gives it back. */
  takePlace(): () => void
  /** Fires when the server gives up waiting for creations. */
  readonly stopped: AbortSignal
  /** The session holds no sandbox and no work any more. */
  onEmpty(key: string): void
}

export interface Binding {
  readonly sandbox: LiveSandbox
  readonly view: SessionView
}

interface Bound {
  readonly sandbox: LiveSandbox
  readonly spec: SandboxSpec
  readonly record: SessionRecord
  readonly givePlaceBack: () => void
}

/** What a record without an end reason means: the server had no time to write one. */
export const SERVER_RESTARTED = 'the server was restarted'

export class Session {
  readonly #key: string
  readonly #needs: SessionNeeds
  #bound: Bound | null = null
  #launching: Promise<{ bound: Bound; notice: string | undefined }> | null = null
  #removing: Promise<void> | null = null
  #workCount = 0
  #lastWorkAt = performance.now()

  constructor(key: string, needs: SessionNeeds) {
    this.#key = key
    this.#needs = needs
  }

  /** Runs `work` with the session's live sandbox, making one when there is none. While it runs, the session is not idle. */
  async use<T>(wish: SandboxWish, signal: AbortSignal, work: (binding: Binding) => Promise<T>): Promise<T> {
    this.#workCount += 1
    try {
      return await work(await this.#bind(wish, signal))
    } finally {
      this.#workCount -= 1
      this.#lastWorkAt = performance.now()
      this.#leaveIfEmpty()
    }
  }

  /** Ends the sandbox, if any, and waits until it is gone. The workspace stays. */
  async close(reason: string): Promise<void> {
    await this.#launching?.catch(() => {})
    if (this.#bound !== null) this.#end(this.#bound, reason)
    await this.#removing
  }

  async #bind(wish: SandboxWish, signal: AbortSignal): Promise<Binding> {
    let notice: string | undefined
    let bound = this.#bound
    if (bound === null || !bound.sandbox.isAlive) {
      if (bound !== null) this.#end(bound, 'the previous one stopped unexpectedly')
      this.#launching ??= this.#launch(wish).finally(() => {
        this.#launching = null
        this.#leaveIfEmpty()
      })
      const launched = await unlessAborted(this.#launching, signal)
      bound = launched.bound
      notice = launched.notice
    }
    checkCompatible(wish, bound.spec)
    const { id, key, incarnation } = bound.record
    return { sandbox: bound.sandbox, view: { id, key, incarnation, workspace: 'intact', ...(notice === undefined ? {} : { notice }) } }
  }

  async #launch(wish: SandboxWish): Promise<{ bound: Bound; notice: string | undefined }> {
    const { backend, specFor, workspaces, log, takePlace, stopped } = this.#needs
    // Two sandboxes must never write one workspace.
    await this.#removing
    const givePlaceBack = takePlace()
    try {
      const workspace = await workspaces.open(this.#key)
      const full = completeWish(wish, workspace.record.wish)
      const spec = await specFor(full, workspace.files)
      const sandbox = await launchSandbox(backend, randomId('sbx'), spec, stopped)
      const { id, key, incarnation, endReason = SERVER_RESTARTED } = workspace.record
      const record: SessionRecord = { id, key, incarnation: incarnation + 1, wish: full }
      const bound = { sandbox, spec, record, givePlaceBack }
      this.#bound = bound
      void sandbox.died.then(() => this.#end(bound, 'the previous one stopped unexpectedly'))
      this.#watchIdle(bound)
      await workspaces.save(record)
      log.info('sandbox-started', { session: record.id, sandbox: sandbox.name, incarnation: record.incarnation })
      return { bound, notice: record.incarnation === 1 ? undefined : noticeOf(endReason) }
    } catch (error) {
      if (this.#bound === null) {
        givePlaceBack()
        await workspaces.discardUnused(this.#key)
      }
      throw error
    }
  }

  /** Safe to call twice for one sandbox; only the first reason counts. */
  #end(bound: Bound, reason: string): void {
    if (this.#bound !== bound) return
    this.#bound = null
    const fields = { session: bound.record.id, sandbox: bound.sandbox.name }
    this.#removing = bound.sandbox
      .destroy()
      .then(() => this.#needs.workspaces.save({ ...bound.record, endReason: reason }))
      .then(() => this.#needs.log.info('sandbox-removed', { ...fields, reason }))
      .catch((error: unknown) => this.#needs.log.error('sandbox-removal-failed', { ...fields, error: errorText(error) }))
      .finally(() => {
        bound.givePlaceBack()
        this.#removing = null
        this.#leaveIfEmpty()
      })
  }

  /** One sleeping timer per sandbox that looks at the last work when it wakes, so that a request touches no timer. */
  #watchIdle(bound: Bound): void {
    const { idleMs } = this.#needs
    const look = () => {
      if (this.#bound !== bound) return
      const restMs = this.#workCount > 0 ? idleMs : this.#lastWorkAt + idleMs - performance.now()
      if (restMs > 0) setTimeout(look, restMs).unref()
      else this.#end(bound, `the previous one was removed after ${Math.round(idleMs / 1000)} s without work`)
    }
    setTimeout(look, idleMs).unref()
  }

  #leaveIfEmpty(): void {
    const isEmpty = this.#workCount === 0 && this.#bound === null && this.#launching === null && this.#removing === null
    if (isEmpty) this.#needs.onEmpty(this.#key)
  }
}

/** What was asked for at first holds until it is asked for otherwise. */
function completeWish(wish: SandboxWish, earlier: SandboxWish): SandboxWish {
  const limits = wish.limits === undefined && earlier.limits === undefined ? undefined : { ...earlier.limits, ...wish.limits }
  return { image: wish.image ?? earlier.image, network: wish.network ?? earlier.network, limits }
}

function noticeOf(reason: string): string {
  return `This is a new sandbox: ${reason}. Files in /workspace are intact; processes and files elsewhere are gone.`
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const left = Promise.withResolvers<never>()
  const leave = () => left.reject(new HoldfastError('request_cancelled', 'the caller left before its sandbox was ready'))
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([promise, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
