/** Long transfers end when their caller leaves or may no more. */
import { HoldfastError } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { whileAllowed } from './while-allowed.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a key that is revoked ends the transfer within half a minute, with the reason', async () => {
  let isRevoked = false
  const refusal = new HoldfastError('unauthorized', 'this key is revoked')
  const recheck = async () => {
    if (isRevoked) throw refusal
  }
  const { signal, release } = whileAllowed({ signal: new AbortController().signal, recheck })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(signal.aborted).toBe(false)
  isRevoked = true
  await vi.advanceTimersByTimeAsync(30_000)
  expect(signal.reason).toBe(refusal)
  release()
  expect(vi.getTimerCount()).toBe(0)
})

test('a caller who leaves ends it at once', () => {
  const left = new AbortController()
  const { signal, release } = whileAllowed({ signal: left.signal, recheck: async () => {} })
  left.abort()
  expect(signal.aborted).toBe(true)
  release()
})
