/**
 * Callers that are being served: counted, waited for when the server stops, and then ended.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'

/** Why a signal fired: the server stops, and what its caller waits for runs on. Compared by identity: a caller's own reason may have any code. */
export const LEFT_RUNNING = new HoldfastError('server_stopping', 'the server is stopping')

export interface Attendance {
  readonly count: number
  /** Serves one caller, unless the server stops. The signal given to `work` fires when the caller leaves or the server's patience ends. */
  during<T>(signal: AbortSignal, work: (ended: AbortSignal) => Promise<T>): Promise<T>
  /** Serves one who goes on with work that is waited for, such as typing into it: taken also while the server stops. */
  along<T>(signal: AbortSignal, work: (ended: AbortSignal) => Promise<T>): Promise<T>
  /**
   * Refuses new callers and waits for the present ones; after `patienceMs` their signals fire, with the reason `LEFT_RUNNING` when
   * what they wait for is to run on. Resolves when there are none.
   */
  stop(patienceMs: number, isLeftRunning?: boolean): Promise<void>
}

export function createAttendance(): Attendance {
  const patience = new AbortController()
  let isStopping = false
  let count = 0
  let onEmpty: (() => void) | null = null

  async function serve<T>(signal: AbortSignal, work: (ended: AbortSignal) => Promise<T>): Promise<T> {
    count += 1
    const ended = eitherSignal(signal, patience.signal)
    try {
      return await work(ended.signal)
    } finally {
      ended.release()
      count -= 1
      if (count === 0) onEmpty?.()
    }
  }

  return {
    get count() {
      return count
    },
    async during(signal, work) {
      if (isStopping) throw new HoldfastError('server_stopping', 'the server is stopping and takes no new work')
      return serve(signal, work)
    },
    along: serve,
    async stop(patienceMs, isLeftRunning = false) {
      isStopping = true
      if (count === 0) return
      const empty = Promise.withResolvers<void>()
      onEmpty = empty.resolve
      const timer = setTimeout(() => patience.abort(isLeftRunning ? LEFT_RUNNING : undefined), patienceMs)
      await empty.promise
      clearTimeout(timer)
    },
  }
}

/** `AbortSignal.any` keeps every request's signal reachable from the long-lived one until it is collected; this lets go at once. */
function eitherSignal(request: AbortSignal, server: AbortSignal): { readonly signal: AbortSignal; release(): void } {
  const either = new AbortController()
  const abort = () => either.abort(request.aborted ? request.reason : server.reason)
  if (request.aborted || server.aborted) abort()
  request.addEventListener('abort', abort, { once: true })
  server.addEventListener('abort', abort, { once: true })
  return {
    signal: either.signal,
    release() {
      request.removeEventListener('abort', abort)
      server.removeEventListener('abort', abort)
    },
  }
}
