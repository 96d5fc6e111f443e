/**
 * The sandboxes this server holds connections to, by name: made once, however many wait for one, and ended once.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The store holds intent, the backend holds fact; this holds only the open connections between the two. It may be lost at
 * any moment and is filled again from the store.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { BackendKind, SandboxBackend } from '../sandboxes/backend.ts'
import { attachSandbox, launchSandbox } from '../sandboxes/live-sandbox.ts'
import type { LiveOptions, LiveSandbox } from '../sandboxes/live-sandbox.ts'
import type { SandboxSpec } from '../sandboxes/spec.ts'
import { unobserved } from '../telemetry/observations.ts'
import { observedMaking } from './observed.ts'
import type { SessionsObserver } from './observed.ts'

export interface SandboxRef {
  readonly id: string
  readonly backend: BackendKind
}

export interface Fleet {
  /** Connected at this moment or being connected again; `undefined` when this server does not hold it. */
  get(id: string): LiveSandbox | undefined
  /** How many it holds. */
  readonly count: number
  /** Makes it, or waits for the one who is making it. A failure leaves nothing behind. */
  launch(ref: SandboxRef, spec: SandboxSpec): Promise<LiveSandbox>
  /** Finds a running one again. Throws `sandbox_gone`. */
  attach(ref: SandboxRef): Promise<LiveSandbox>
  /** Removes everything of that name, also what is half made. Safe to repeat. */
  destroy(ref: SandboxRef): Promise<void>
  /** Closes every connection and leaves the sandboxes running; what is half made is removed first. */
  detach(): Promise<void>
}

export interface FleetNeeds {
  openBackend(kind: BackendKind): Promise<SandboxBackend>
  readonly live: LiveOptions
  /** One that runs already was found again; nobody gets hold of it before this is done. */
  onFound(id: string, sandbox: LiveSandbox): Promise<void>
  /** It is gone and nobody here asked for that. */
  onGone(id: string): void
  readonly observer?: SessionsObserver
}

/** Being made or found; aborting `unwanted` ends that. */
interface Coming {
  readonly made: Promise<LiveSandbox>
  readonly unwanted: AbortController
}

export function createFleet({ openBackend, live, onFound, onGone, observer = unobserved }: FleetNeeds): Fleet {
  const held = new Map<string, LiveSandbox>()
  const coming = new Map<string, Coming>()
  const leaving = new Map<string, Promise<void>>()
  const stopped = new AbortController()

  function liveOn(backend: BackendKind): LiveOptions {
    return { counts: observer.healthOf(backend), ...live }
  }

  function hold(id: string, sandbox: LiveSandbox): LiveSandbox {
    held.set(id, sandbox)
    void sandbox.gone.then(() => {
      if (held.get(id) !== sandbox) return
      held.delete(id)
      onGone(id)
    })
    return sandbox
  }

  function once(id: string, make: (signal: AbortSignal) => Promise<LiveSandbox>): Promise<LiveSandbox> {
    const known = held.get(id)
    if (known !== undefined) return Promise.resolve(known)
    const awaited = coming.get(id)
    if (awaited !== undefined) return outcomeOf(id, awaited)
    const unwanted = new AbortController()
    // One that is just being destroyed is not there any more, and is out of the way before it is made again.
    const made = gone(id)
      .then(() => make(AbortSignal.any([unwanted.signal, stopped.signal])))
      .then((sandbox) => hold(id, sandbox))
      .finally(() => coming.delete(id))
    coming.set(id, { made, unwanted })
    return outcomeOf(id, { made, unwanted })
  }

  /** Who waits for one that is destroyed meanwhile hears so once it is. */
  async function outcomeOf(id: string, { made, unwanted }: Coming): Promise<LiveSandbox> {
    try {
      return await made
    } catch (cause) {
      if (stopped.signal.aborted) throw new HoldfastError('server_stopping', 'the server is stopping', {}, { cause })
      if (!unwanted.signal.aborted) throw cause
      await leaving.get(id)
      throw new HoldfastError('sandbox_gone', 'the sandbox was destroyed while it was awaited', {}, { cause })
    }
  }

  async function gone(id: string): Promise<void> {
    // How that ended is for those who asked for it.
    await leaving.get(id)?.catch(() => undefined)
  }

  async function remove({ id, backend }: SandboxRef): Promise<void> {
    const awaited = coming.get(id)
    awaited?.unwanted.abort()
    // Whether it was made or not is for those who asked for it; what counts is that it is gone afterwards.
    await awaited?.made.catch(() => undefined)
    const sandbox = held.get(id)
    held.delete(id)
    if (sandbox === undefined) await (await openBackend(backend)).destroy(id)
    else await sandbox.destroy()
  }

  return {
    get: (id) => held.get(id),
    get count() {
      return held.size
    },
    launch: ({ id, backend }, spec) =>
      once(id, (signal) =>
        observedMaking(observer, backend, signal, async () =>
          launchSandbox(await openBackend(backend), id, spec, signal, undefined, liveOn(backend)),
        ),
      ),
    attach: ({ id, backend }) =>
      once(id, async (signal) => {
        const sandbox = await attachSandbox(await openBackend(backend), id, signal, liveOn(backend))
        try {
          await onFound(id, sandbox)
          return sandbox
        } catch (error) {
          sandbox.detach()
          throw error
        }
      }),
    destroy(ref) {
      const known = leaving.get(ref.id)
      if (known !== undefined) return known
      const removal = remove(ref).finally(() => leaving.delete(ref.id))
      leaving.set(ref.id, removal)
      return removal
    },
    async detach() {
      stopped.abort()
      await Promise.allSettled([...[...coming.values()].map(({ made }) => made), ...leaving.values()])
      for (const sandbox of held.values()) sandbox.detach()
      held.clear()
    },
  }
}
