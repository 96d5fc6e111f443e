/**
 * Requests that are sent again, as promises that hold on every store: done once, answered alike, and honest after a crash.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { randomBytes } from 'node:crypto'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { randomId } from '../../../home/random-id.ts'
import { createSealing } from '../../../home/sealing.ts'
import { migrate } from '../../../store/migrate.ts'
import type { Store } from '../../../store/store.ts'
import { countRequests } from '../../../store/tables/idempotency.ts'
import { createIdempotency } from '../idempotency.ts'
import type { Claim, RepeatedRequest } from '../idempotency.ts'
import { problemReply } from '../problems.ts'
import type { Reply } from '../route.ts'

const DAY = 86_400_000
const LOG = { debug() {}, info() {}, warn() {}, error() {} }

export function idempotencyContract(kind: string, open: () => Promise<Store>): void {
  describe(`on ${kind}`, () => {
    let store: Store
    let now = 1_000_000
    const [secret, key] = [randomBytes(32), randomBytes(32)]
    beforeAll(async () => {
      store = await open()
      await migrate(store)
    })
    beforeEach(async () => {
      now = 1_000_000
      await store.write((transaction) => transaction.run('DELETE FROM requests'))
    })
    afterAll(() => store.close())

    /** A renewal is told to nobody. */
    async function untilRenewed(): Promise<void> {
      for (;;) {
        const row = await store.read((sql) => sql.get('SELECT alive_until FROM requests'))
        if (Number(row?.['alive_until']) > now + 10_000) return
        await new Promise((resolve) => setImmediate(resolve))
      }
    }

    let room = true
    const kept: { tenantId: string; what: string; amount: number }[] = []
    const keptStorage = {
      add: (tenantId: string, what: string, amount: number) => void kept.push({ tenantId, what, amount }),
      assertRoom() {
        if (!room) throw new HoldfastError('quota_exceeded', 'full', { quota: 'kept_answer_bytes' })
      },
    }
    const life = (serverId = randomId('srv')) =>
      createIdempotency({ store, sealing: createSealing(secret), key, clock: () => now, kept: keptStorage, serverId })
    const request = (more: Partial<RepeatedRequest> = {}): RepeatedRequest => ({
      ...{ key: 'k-1', tenantId: 'tnt_a', scope: ['key_1', 'sally', 'POST', '/v1/keys'], content: { a: 1 }, isRepeatable: false },
      ...more,
    })
    const made = (n: number): Reply => ({ status: 201, body: { secret: `hf_very-secret-${n}` }, headers: { etag: `"${n}"` } })
    const codeOf = async (promise: Promise<unknown>) => {
      const error: unknown = await promise.then(
        () => null,
        (thrown: unknown) => thrown,
      )
      return isHoldfastError(error) ? error.code : error
    }

    test('the same key and request: the same answer, done once, also by another server and after a restart', async () => {
      const perform = vi.fn(async () => made(1))
      expect(await life().once(request(), perform)).toMatchObject({ isRepeated: false, reply: made(1) })
      expect(await life().once(request(), perform)).toEqual({ isRepeated: true, reply: made(1) })
      expect(perform).toHaveBeenCalledTimes(1)
    })

    test('the order of fields does not make another request; anything else does, and is refused', async () => {
      const idempotency = life()
      await idempotency.once(request({ content: { a: 1, b: [{ c: 2, d: 3 }] } }), async () => made(1))
      expect(await idempotency.once(request({ content: { b: [{ d: 3, c: 2 }], a: 1 } }), async () => made(2))).toMatchObject({
        isRepeated: true,
      })
      for (const content of [{ a: 1 }, { a: 1, b: [{ c: 2, d: '3' }] }, null])
        expect(await codeOf(idempotency.once(request({ content }), async () => made(2)))).toBe('idempotency_key_reused')
    })

    test.each([
      ['another tenant', { tenantId: 'tnt_b' }],
      ['another key of the same person', { scope: ['key_2', 'sally', 'POST', '/v1/keys'] }],
      ['another person behind the same key', { scope: ['key_1', 'ben', 'POST', '/v1/keys'] }],
      ['another route', { scope: ['key_1', 'sally', 'POST', '/v1/webhooks'] }],
    ])('%s has keys of its own', async (_who, more) => {
      const idempotency = life()
      await idempotency.once(request(), async () => made(1))
      expect(await idempotency.once(request(more), async () => made(2))).toMatchObject({ isRepeated: false, reply: made(2) })
    })

    test('while it is under way the second is told so, and of many at once one is done', async () => {
      const idempotency = life()
      const gate = Promise.withResolvers<Reply>()
      const perform = vi.fn(() => gate.promise)
      // Which of them is the first is for the database to say.
      const many = Array.from({ length: 20 }, () => idempotency.once(request(), perform))
      const refused: unknown[] = []
      const enough = Promise.withResolvers<void>()
      const hear = (reason: unknown) => {
        refused.push(isHoldfastError(reason) ? reason.code : reason)
        if (refused.length === many.length - 1) enough.resolve()
      }
      for (const one of many) one.catch(hear)
      await enough.promise
      expect(new Set(refused)).toEqual(new Set(['request_in_progress']))
      gate.resolve(made(1))
      expect(await Promise.any(many)).toEqual({ isRepeated: false, reply: made(1) })
      expect(perform).toHaveBeenCalledOnce()
      expect(await idempotency.once(request(), async () => made(2))).toEqual({ isRepeated: true, reply: made(1) })
    })

    test('a request under way is kept alive for as long as it takes', async () => {
      // The store takes its turns by itself.
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      try {
        const [one, other] = [life(), life()]
        const gate = Promise.withResolvers<Reply>()
        const first = one.once(request(), () => gate.promise)
        while ((await store.read(countRequests)) === 0) await new Promise((resolve) => setImmediate(resolve))
        for (let minute = 0; minute < 10; minute += 1) {
          now += 50_000
          await vi.advanceTimersByTimeAsync(15_000)
          await untilRenewed()
          expect(await codeOf(other.once(request(), async () => made(2)))).toBe('request_in_progress')
        }
        gate.resolve(made(1))
        expect(await first).toMatchObject({ isRepeated: false })
        expect(vi.getTimerCount()).toBe(0)
      } finally {
        vi.useRealTimers()
      }
    })

    test('after the death of its server the outcome is not known, and nothing is done twice', async () => {
      const dead = life()
      void dead.once(request(), () => new Promise(() => undefined))
      await expect.poll(() => store.read(countRequests)).toBe(1)
      now += 60_001
      const perform = vi.fn(async () => made(2))
      expect(await codeOf(life().once(request(), perform))).toBe('outcome_unknown')
      expect(perform).not.toHaveBeenCalled()
    })

    test('what may be repeated by nature is simply done again after the death of its server', async () => {
      const dead = life()
      const late = Promise.withResolvers<Reply>()
      const first = dead.once(request({ isRepeatable: true }), () => late.promise)
      await expect.poll(() => store.read(countRequests)).toBe(1)
      now += 60_001
      const alive = life()
      expect(await alive.once(request({ isRepeatable: true }), async () => made(2))).toMatchObject({ isRepeated: false })
      // The one that was thought dead does not overwrite it.
      late.resolve(made(1))
      await first
      expect(await alive.once(request({ isRepeatable: true }), async () => made(3))).toEqual({ isRepeated: true, reply: made(2) })
    })

    test('the next process of the same server takes a request over at once, and finds its execution by the same id', async () => {
      const claims: Claim[] = []
      void life('srv_1').once(request({ isRepeatable: true }), (claim) => {
        claims.push(claim)
        return new Promise(() => undefined)
      })
      await expect.poll(() => claims).toHaveLength(1)
      expect(await codeOf(life('srv_2').once(request({ isRepeatable: true }), async () => made(2)))).toBe('request_in_progress')
      const next = life('srv_1')
      const perform = async (claim: Claim) => {
        claims.push(claim)
        return made(2)
      }
      expect(await next.once(request({ isRepeatable: true }), perform)).toMatchObject({ isRepeated: false, reply: made(2) })
      expect(claims).toEqual([
        { executionId: expect.stringMatching(/^exe_[0-9a-z]{16}$/), isTakenOver: false },
        { executionId: claims[0]?.executionId, isTakenOver: true },
      ])
    })

    test('a server that stops keeps the claim, so that the next start goes on with what was started', async () => {
      const ids: string[] = []
      const stopping = async (claim: Claim) => {
        ids.push(claim.executionId)
        return problemReply(new HoldfastError('server_stopping', 'it runs on'), 'req_1', LOG)
      }
      await life('srv_1').once(request({ isRepeatable: true }), stopping)
      await life('srv_1').once(request({ isRepeatable: true }), async ({ executionId, isTakenOver }) => {
        ids.push(executionId)
        expect(isTakenOver).toBe(true)
        return made(1)
      })
      expect(new Set(ids).size).toBe(1)
    })

    test('a failure that asks for a delay, or is a bug, is tried again; any other is an answer', async () => {
      const idempotency = life()
      const failing = (error: unknown) => async () => problemReply(error, 'req_1', LOG)
      for (const error of [
        new HoldfastError('backend_unavailable', 'no'),
        new HoldfastError('quota_exceeded', 'no'),
        new Error('bug'),
        new HoldfastError('request_cancelled', 'left'),
      ]) {
        expect(await idempotency.once(request(), failing(error))).toMatchObject({ isRepeated: false })
      }
      expect(await idempotency.once(request(), failing(new HoldfastError('session_closed', 'over')))).toMatchObject({ isRepeated: false })
      expect(await idempotency.once(request(), async () => made(1))).toMatchObject({ isRepeated: true, reply: { status: 409 } })
    })

    test('after a day a key is free again, and old ones are dropped', async () => {
      const idempotency = life()
      await idempotency.once(request(), async () => made(1))
      now += DAY
      expect(await idempotency.once(request({ content: 'other' }), async () => made(2))).toMatchObject({ isRepeated: false })
      now += DAY
      await idempotency.once(request({ key: 'k-2' }), async () => made(3))
      expect(await store.read(countRequests)).toBe(1)
    })

    test('of an answer above 64 KB the end of the output is kept, and the id that leads to the rest', async () => {
      const body = {
        execution_id: 'exe_1',
        status: 'completed',
        stdout: `begin${'é'.repeat(900_000)}end`,
        stderr: 'few',
        stdout_truncated: false,
      }
      const perform = vi.fn(async () => ({ status: 200, body, headers: {} }))
      expect((await life().once(request(), perform)).reply.body).toBe(body)
      const { reply } = await life().once(request(), perform)
      expect(reply.body).toMatchObject({ execution_id: 'exe_1', status: 'completed', stderr: 'few', stdout_truncated: true })
      expect(reply.body).toMatchObject({ stdout: expect.stringMatching(/^é{8189}end$/) as string })
      const row = await store.read((sql) => sql.get('SELECT length(answer) AS bytes FROM requests'))
      expect(Number(row?.['bytes'])).toBeLessThan(65_536)
    })

    test('any other answer above 64 KB is not kept: the repeated request says what was done, and does nothing', async () => {
      const perform = vi.fn(async () => ({ status: 201, body: { session_id: 'ses_1', text: 'x'.repeat(70_000) }, headers: {} }))
      await life().once(request(), perform)
      await expect(life().once(request(), perform)).rejects.toMatchObject({
        code: 'answer_not_kept',
        details: { status: 201, session_id: 'ses_1' },
      })
      expect(perform).toHaveBeenCalledOnce()
    })

    test('a tenant that may keep no more is refused before anything is done; what it sent before is still answered', async () => {
      const perform = vi.fn(async () => made(1))
      kept.length = 0
      await life().once(request(), perform)
      expect(kept).toEqual([{ tenantId: 'tnt_a', what: 'answers', amount: expect.any(Number) as number }])
      room = false
      try {
        expect(await codeOf(life().once(request({ key: 'k-2' }), perform))).toBe('quota_exceeded')
        expect(await life().once(request(), perform)).toMatchObject({ isRepeated: true })
      } finally {
        room = true
      }
      expect(perform).toHaveBeenCalledOnce()
      expect(await life().once(request({ key: 'k-2' }), perform)).toMatchObject({ isRepeated: false })
    })

    test('the database shows neither what was sent nor what was answered', async () => {
      await life().once(request({ key: 'guess-me', content: { command: 'rm -rf secrets' } }), async () => made(1))
      const rows = await store.read((sql) => sql.all('SELECT * FROM requests'))
      const shown = rows
        .flatMap((row) => Object.values(row))
        .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
      expect(shown.join(' ')).not.toMatch(/guess-me|rm -rf|very-secret|sally/)
    })

    test.each(['', 'a b', 'é', 'x'.repeat(256)])('the key %j is refused', async (bad) => {
      expect(await codeOf(life().once(request({ key: bad }), async () => made(1)))).toBe('invalid_request')
    })
  })
}
