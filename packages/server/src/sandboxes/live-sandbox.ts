/**
 * A sandbox as this server holds it: an open connection to its inside, dialled again when it breaks.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * The connection stays open for the sandbox's life, so that a warm command costs no dial and no engine call. A connection
 * owns nothing inside, so losing one loses nothing: readers attach again over the next. Only what is certain ends it:
 * the backend says that it does not run, another guest answers, the guest breaks the protocol, or dialling fails for good.
 * Whoever owns it then calls `destroy`, for the remains may still hold its workspace.
 */
import type { HoldfastError } from '@holdfast/protocol'
import type { Inside } from '../guest/inside.ts'
import type { OnProgress, SandboxBackend } from './backend.ts'
import { openLink } from './guest-link.ts'
import type { CounterReader } from './limit-counters.ts'
import type { HealthCounts } from './health.ts'
import { linkOptions, ReconnectingSandbox } from './reconnecting-sandbox.ts'
import type { SandboxSpec } from './spec.ts'

/** A sandbox that has just been made may take its time. */
const GREETING_MS = 10_000

export interface LiveSandbox {
  readonly name: string
  /** The same over every connection: another value would be another sandbox. */
  readonly bootId: string
  /** Over the current connection. Throws `guest_unreachable` while there is none, and what `connected` rejects with when there will be none. */
  readonly inside: Inside
  /** False once it is gone, destroyed or detached; true while it is being dialled again. */
  readonly isAlive: boolean
  /** Resolves, never rejects, with `sandbox_gone` once that is certain or `destroy` was called. Never after `detach`. */
  readonly gone: Promise<HoldfastError>
  /** Over the current connection or the next one. Rejects with `sandbox_gone`, or with `server_stopping` after `detach`. */
  connected(signal?: AbortSignal): Promise<Inside>
  /** True when the guest was heard lately or answers a ping. After a failed one it is dialled once more; then it is gone. */
  check(now: number): Promise<boolean>
  readonly health: Readonly<HealthCounts>
  readonly limitCounters: CounterReader
  /** Stops all its processes until the returned function is called, where the backend can. Do so within a second: the guest is stopped too. */
  freeze(): Promise<() => Promise<void>>
  /** Lets go: closes the connection and leaves the sandbox and its programs running. */
  detach(): void
  /** Removes everything. Calling it again waits for the same removal; after a failed one it tries again. */
  destroy(): Promise<void>
}

export interface LiveOptions {
  /** Epoch milliseconds; the clock of `check(now)`. */
  readonly clock?: () => number
  readonly skipMs?: number
  /** How long a ping may take in `check`, and a greeting on a new connection. */
  readonly answerMs?: number
  readonly retryDelaysMs?: readonly number[]
  /** Totals to add to; by default its own. */
  readonly counts?: HealthCounts
  /** It has just been made. */
  readonly isNew?: boolean
}

/** A failure at any step leaves nothing behind. */
export async function launchSandbox(
  backend: SandboxBackend,
  name: string,
  spec: SandboxSpec,
  signal?: AbortSignal,
  onProgress?: OnProgress,
  options: LiveOptions = {},
): Promise<LiveSandbox> {
  const sandbox = await backend.create(name, spec, signal, onProgress)
  try {
    const link = await openLink(sandbox, linkOptions(options, GREETING_MS), signal)
    return new ReconnectingSandbox(backend, name, link, { ...options, isNew: true })
  } catch (error) {
    await backend.destroy(name)
    throw error
  }
}

/** The running sandbox of that name, e.g. after a restart. Throws `sandbox_gone`, or `guest_unreachable` when it runs but does not answer. */
export async function attachSandbox(
  backend: SandboxBackend,
  name: string,
  signal?: AbortSignal,
  options: LiveOptions = {},
): Promise<LiveSandbox> {
  const sandbox = await backend.attach(name, signal)
  return new ReconnectingSandbox(backend, name, await openLink(sandbox, linkOptions(options, GREETING_MS), signal), options)
}
