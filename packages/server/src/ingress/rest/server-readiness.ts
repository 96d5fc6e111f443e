/**
 * Whether this server can do its work: it is not stopping, its database answers, its backend answered lately.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Everybody may ask, so the answer names the part that is in the way and nothing else of it; the log has the rest. However many ask, each part
 * is asked once at a time. That an earlier life's sessions are taken up needs no question: before that the server does not listen.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import type { Store } from '../../store/store.ts'

/** A backend that answered is not asked again for so long. */
const LATELY_MS = 10_000
const STORE_ANSWER_MS = 2_000
const BACKEND_ANSWER_MS = 5_000

export interface ReadinessNeeds {
  isStopping(): boolean
  readonly store: Store
  /** Throws `store_unavailable` when the home lacks something. */
  checkHome(): Promise<void>
  /** Whether the backend makes sandboxes with the configured defaults. */
  readonly canServe?: boolean
  /** Resolves when the backend answers. */
  askBackend(signal: AbortSignal): Promise<unknown>
  readonly clock: () => number
  readonly storeAnswerMs?: number
  readonly backendAnswerMs?: number
}

/** Throws `server_stopping`, `store_unavailable` or `backend_unavailable`, with the `part` in its details. */
export function readinessCheck(needs: ReadinessNeeds): () => Promise<void> {
  const {
    isStopping,
    store,
    checkHome,
    canServe = true,
    askBackend,
    clock,
    storeAnswerMs = STORE_ANSWER_MS,
    backendAnswerMs = BACKEND_ANSWER_MS,
  } = needs
  let answeredAt = Number.NEGATIVE_INFINITY
  const askStore = oneAtATime(() => answerWithin(storeAnswerMs, () => store.read((sql) => sql.get('SELECT 1 AS one'))))
  const askForSandboxes = oneAtATime(async () => {
    await answerWithin(backendAnswerMs, askBackend)
    answeredAt = clock()
  })
  return async () => {
    if (isStopping()) throw new HoldfastError('server_stopping', 'the server is stopping', { part: 'server' })
    await checkHome()
    await askStore().catch(notReady('store_unavailable', 'the database does not answer', 'store'))
    if (!canServe) throw new HoldfastError('backend_unavailable', 'the backend refuses the configured defaults', { part: 'backend' })
    // A clock that was set back must not make an old answer look fresh for ever.
    if (Math.abs(clock() - answeredAt) < LATELY_MS) return
    await askForSandboxes().catch(notReady('backend_unavailable', 'the backend of the sandboxes does not answer', 'backend'))
  }
}

function notReady(code: ErrorCode, message: string, part: string): (cause: unknown) => never {
  return (cause) => {
    throw new HoldfastError(code, message, { part }, { cause })
  }
}

function oneAtATime(ask: () => Promise<unknown>): () => Promise<unknown> {
  let asked: Promise<unknown> | null = null
  return () => (asked ??= ask().finally(() => (asked = null)))
}

async function answerWithin(limitMs: number, ask: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const patience = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new Error(`no answer within ${limitMs} ms`))
    patience.abort()
  }, limitMs)
  try {
    return await Promise.race([ask(patience.signal), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
