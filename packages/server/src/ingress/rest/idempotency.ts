/**
 * A request that is sent again with the same Idempotency-Key is answered as it was, and done once.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A key belongs to the one who sent it and to one route. It is claimed before anything is done, and its claim is kept alive while
 * that is under way; so after the death of a server the next one knows that nobody is at it any more. The id of an execution
 * follows from the claim, so a request that is taken over finds the command that its first server started. What was
 * answered is kept for a day, sealed: some answers show a secret. A failure that says "retry after a delay" is not kept.
 * A large answer is kept shortened (`kept-answer.ts`).
 */
import { createHmac } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { ERRORS, HoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import { z } from 'zod'
import { derivedId, randomId } from '../../home/random-id.ts'
import type { Sealing } from '../../home/sealing.ts'
import type { Store } from '../../store/store.ts'
import {
  claimRequest,
  deleteExpiredRequests,
  finishRequest,
  forgetRequest,
  lockRequest,
  renewRequests,
  takeOverRequest,
} from '../../store/tables/idempotency.ts'
import type { KeptStorage } from '../../sessions/kept-storage.ts'
import { answerNotKept, DroppedAnswer, keptAnswer } from './kept-answer.ts'
import type { Reply } from './route.ts'

const KEPT_MS = 86_400_000
/** Without a sign of life for so long, whoever answered is dead. */
const ALIVE_MS = 60_000
const RENEW_EVERY_MS = 15_000
const EXPIRED_AT_ONCE = 20

/** What a claim costs beside its answer. */
const ROW_BYTES = 512

const KEY = /^[\x21-\x7e]{1,255}$/

const StoredReply = z.object({
  status: z.int(),
  body: z.unknown(),
  headers: z.record(z.string(), z.string()).optional(),
  dropped: DroppedAnswer.optional(),
})

export interface RepeatedRequest {
  readonly key: string
  readonly tenantId: string
  /** Who sent it, and to which route. */
  readonly scope: readonly (string | null)[]
  /** What has to be the same. */
  readonly content: unknown
  readonly isRepeatable: boolean
}

export interface Claim {
  /** What an execution that this request starts is called; the same when the request is taken over. */
  readonly executionId: string
  /** An earlier server claimed it and died or stopped before it answered. */
  readonly isTakenOver: boolean
}

export interface Idempotency {
  /** Does it, or gives what it gave before. Throws `request_in_progress`, `idempotency_key_reused`, `outcome_unknown`, `answer_not_kept` or `quota_exceeded`. */
  once(
    request: RepeatedRequest,
    perform: (claim: Claim) => Promise<Reply & { readonly code?: ErrorCode }>,
  ): Promise<{ readonly reply: Reply; readonly isRepeated: boolean }>
}

export interface IdempotencyNeeds {
  readonly store: Store
  readonly sealing: Sealing
  /** So that nobody who reads the database can try out what was sent. */
  readonly key: Uint8Array
  readonly clock: () => number
  /** Counts what is kept, and knows when a tenant may keep no more. */
  readonly kept: Pick<KeptStorage, 'add' | 'assertRoom'>
  readonly serverId: string
}

export function createIdempotency({ store, sealing, key, clock, kept, serverId }: IdempotencyNeeds): Idempotency {
  /** This process of the server. One home has one process, so what another process of it claimed nobody works on any more. */
  const life = `${serverId}.${randomId('lif')}`
  let underWay = 0
  let renewing: NodeJS.Timeout | null = null

  const digest = (value: unknown) => createHmac('sha256', key).update(JSON.stringify(value)).digest('hex')

  const claimOf = (id: string, expiresAt: number, isTakenOver: boolean): Claim => ({
    executionId: derivedId(
      'exe',
      createHmac('sha256', key)
        .update(JSON.stringify(['execution', id, expiresAt]))
        .digest(),
    ),
    isTakenOver,
  })

  /** Resolves with the stored answer, or with the claim when the request is now this one's to do. */
  async function claim(id: string, fingerprint: string, { tenantId, isRepeatable }: RepeatedRequest): Promise<Uint8Array | Claim> {
    return store.write(async (transaction) => {
      const now = clock()
      await deleteExpiredRequests(transaction, now, EXPIRED_AT_ONCE)
      const fresh = { id, tenantId, fingerprint, life, aliveUntil: now + ALIVE_MS, answer: null, expiresAt: now + KEPT_MS }
      if (await claimRequest(transaction, fresh)) {
        // After the claim: a request that is repeated adds nothing.
        kept.assertRoom(tenantId, 'answers')
        return claimOf(id, fresh.expiresAt, false)
      }
      const known = await lockRequest(transaction, id)
      if (known === null) throw new HoldfastError('request_in_progress', 'a request with this Idempotency-Key has just been answered')
      if (known.expiresAt <= now) {
        await takeOverRequest(transaction, known, fresh)
        return claimOf(id, fresh.expiresAt, false)
      }
      if (known.fingerprint !== fingerprint)
        throw new HoldfastError('idempotency_key_reused', 'this Idempotency-Key was used for another request')
      if (known.answer !== null) return known.answer
      const isDead = known.life !== life && known.life.startsWith(`${serverId}.`)
      if (known.aliveUntil > now && !isDead)
        throw new HoldfastError('request_in_progress', 'a request with this Idempotency-Key is being answered')
      if (!isRepeatable)
        throw new HoldfastError(
          'outcome_unknown',
          'the server died while it answered this Idempotency-Key; whether it happened is not known',
        )
      // With the same end, from which the id of its execution follows.
      await takeOverRequest(transaction, known, { ...fresh, expiresAt: known.expiresAt })
      return claimOf(id, known.expiresAt, true)
    }, 'process')
  }

  async function settle(id: string, tenantId: string, reply: Reply & { readonly code?: ErrorCode }): Promise<void> {
    // What it started may run on: whoever sends it again after the next start gets that.
    if (reply.code === 'server_stopping') return
    if (!isKept(reply)) {
      await store.write((transaction) => forgetRequest(transaction, id, life), 'process')
      return
    }
    const packed = await compress(keptAnswer(reply))
    const answer = sealing.seal(packed, id)
    const expiresAt = clock() + KEPT_MS
    await store.write((transaction) => finishRequest(transaction, id, life, answer, expiresAt), 'process')
    kept.add(tenantId, 'answers', ROW_BYTES + answer.length, expiresAt)
  }

  function begin(): void {
    underWay += 1
    renewing ??= setInterval(() => {
      // A renewal that fails is tried again; should all fail, a repeated request learns that the outcome is not known.
      store.write((transaction) => renewRequests(transaction, life, clock() + ALIVE_MS), 'process').catch(() => undefined)
    }, RENEW_EVERY_MS).unref()
  }

  function end(): void {
    underWay -= 1
    if (underWay > 0 || renewing === null) return
    clearInterval(renewing)
    renewing = null
  }

  return {
    async once(request, perform) {
      if (!KEY.test(request.key)) throw new HoldfastError('invalid_request', 'Idempotency-Key: must be 1 to 255 visible ASCII characters')
      const id = digest([request.tenantId, ...request.scope, request.key])
      begin()
      try {
        const answer = await claim(id, digest(canonical(request.content)), request)
        if (answer instanceof Uint8Array) {
          const stored: unknown = JSON.parse((await decompress(sealing.open(answer, id))).toString())
          const { status, body, headers = {}, dropped } = StoredReply.parse(stored)
          if (dropped !== undefined) throw answerNotKept(status, dropped)
          return { reply: { status, body, headers }, isRepeated: true }
        }
        const reply = await perform(answer)
        await settle(id, request.tenantId, reply)
        return { reply, isRepeated: false }
      } finally {
        end()
      }
    },
  }
}

const compress = promisify<string, Buffer>(gzip)
const decompress = promisify<Uint8Array, Buffer>(gunzip)

function isKept({ status, code }: { readonly status: number; readonly code?: ErrorCode }): boolean {
  return status < 500 && status !== ERRORS.request_cancelled.status && (code === undefined || ERRORS[code].retry !== 'after-delay')
}

/** The same value for the same JSON, whatever the order of its fields. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (value === null || typeof value !== 'object') return value
  return Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .map(([name, field]) => [name, canonical(field)])
    .toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1))
}
