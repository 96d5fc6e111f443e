/** What a slow reader loses, and what it does not. */
import { describe, expect, test } from 'vitest'
import { GATEWAY_LIMITS } from './limits.ts'
import { Outbox, outboxes } from './outbox.ts'

const never = new AbortController().signal

describe('an outbox', () => {
  test('loses notifications that nobody takes in time, and nothing else', async () => {
    const outbox = new Outbox({ ...GATEWAY_LIMITS, waitingMessages: 2 })
    for (const text of ['one', 'two', 'three']) outbox.tell(text)
    outbox.say('answer')
    outbox.end()
    expect(String(await outbox.take(never))).toBe(['one', 'two', 'answer'].map((text) => `event: message\ndata: ${text}\n\n`).join(''))
    expect([await outbox.take(never), outbox.lost]).toEqual([null, 1])
  })

  test('is bounded in bytes too', () => {
    const outbox = new Outbox({ ...GATEWAY_LIMITS, waitingBytes: 100 })
    for (let n = 0; n < 10; n += 1) outbox.tell('x'.repeat(60))
    expect(outbox.lost).toBe(9)
  })

  test('is bounded together with the others, what a reader took and has not read counts too, and each has a little for itself', async () => {
    const newOutbox = outboxes({ ...GATEWAY_LIMITS, allWaitingBytes: 60_000 })
    const [stalled, unread, other] = [newOutbox(), newOutbox(), newOutbox()]
    const large = 'x'.repeat(20_000)
    expect([stalled.tell(large), unread.tell(large), other.tell(large)]).toEqual([true, true, false])
    await stalled.take(never)
    expect([other.tell(large), other.tell('small')]).toEqual([false, true])
    unread.discard()
    expect([other.tell(large), other.tell(large)]).toEqual([true, false])
    void stalled.take(never)
    expect([other.tell(large), unread.tell('late')]).toEqual([true, false])
  })

  test('gives what waits to the next reader when one has left', async () => {
    const outbox = new Outbox(GATEWAY_LIMITS)
    const leaving = new AbortController()
    const first = outbox.take(leaving.signal)
    leaving.abort()
    outbox.tell('one')
    expect(await first).toBeNull()
    expect(String(await outbox.take(never))).toContain('one')
  })
})
