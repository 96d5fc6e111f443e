/** Whether a failed call is made again, and when. */
import { expect, test } from 'vitest'
import { HoldfastError } from '../errors.ts'
import type { RetryAdvice } from '../errors.ts'
import { problemOf } from './problem.ts'
import { backoffMs, retryDelayMs } from './retrying.ts'

const failure = (code: string, retry: RetryAdvice = 'after-delay') => new HoldfastError({ code, message: 'x', retry })

test('waits grow, are random from nothing to the whole, and have an end', () => {
  expect([1, 2, 3, 20].map((attempt) => backoffMs(attempt, () => 1))).toEqual([100, 200, 400, 5000])
  expect(backoffMs(9, () => 0)).toBe(0)
})

test('what the server asks to wait comes on top', async () => {
  const headers = { 'retry-after': '2' }
  const error = await problemOf(Response.json({ code: 'server_stopping', retry: 'after-delay' }, { status: 503, headers }), 'http://test')
  expect(retryDelayMs(error, 1, () => 0)).toBe(2000)
  expect(retryDelayMs(error, 1, () => 1)).toBe(2100)
})

test('only what may work later is tried again, and only so often', () => {
  expect(retryDelayMs(failure('server_unreachable'), 4)).not.toBeNull()
  expect(retryDelayMs(failure('server_unreachable'), 5)).toBeNull()
  expect(retryDelayMs(failure('not_found', 'never'), 1)).toBeNull()
  expect(retryDelayMs(failure('version_conflict', 'after-change'), 1)).toBeNull()
  expect(retryDelayMs(new Error('a bug'), 1)).toBeNull()
})

test('whether to wait for a busy session or a quota is for the caller to say', () => {
  expect(retryDelayMs(failure('session_busy'), 1)).toBeNull()
  expect(retryDelayMs(failure('quota_exceeded'), 1)).toBeNull()
})

test('a request that is still being answered is waited for, however often', () => {
  expect(retryDelayMs(failure('request_in_progress'), 50)).not.toBeNull()
})
