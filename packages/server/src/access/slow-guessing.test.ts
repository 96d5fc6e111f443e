/** Guessing is slow, others are unharmed, and the log says who tried without saying with what. */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { jsonLog } from '../telemetry/log.ts'
import { createAuthenticator } from './authenticate.ts'
import type { KeyRecord } from './keys.ts'
import { newKey } from './key-secret.ts'
import { refusal } from './refusal.ts'
import { slowGuessing } from './slow-guessing.ts'

/** Chosen by an operator, so it may be short enough to be guessed. */
const KEY = 'the-key-in-the-home'
const MADE_KEY = newKey()
/** Three parts with dots, as a token has. */
const TOKEN = 'header.claims.signature'

const RECORD: KeyRecord = {
  ...{ id: 'key_1', tenantId: 'tnt_a', name: 'laptop', kind: 'user', subject: 'alice', role: 'member', groups: [], users: null },
  ...{ createdAt: 1, createdBy: 'admin', expiresAt: null, revokedAt: null },
}

function open(rate: { readonly perSecond: number; readonly burst: number } | null = { perSecond: 1, burst: 3 }) {
  const time = { now: 1_000_000 }
  const state = { key: KEY, looks: 0, isDown: false }
  const lines: string[] = []
  const inner = createAuthenticator({
    adminKey: {
      matches(candidate) {
        state.looks += 1
        if (state.isDown) throw new HoldfastError('identity_provider_unavailable', 'down')
        return candidate === state.key
      },
    },
    keys: { find: async (key) => (key === MADE_KEY ? RECORD : null) },
    tenants: { idOf: async () => null },
    async verifyToken(token) {
      if (token !== TOKEN) throw refusal('the token is not valid', 'token-signature')
      return { tenantId: 'tnt_a', subject: 'oidc:alice', groups: [], role: 'member', kind: 'user', keyId: 'oidc', onBehalfOf: null }
    },
  })
  const authenticate = slowGuessing({ authenticate: inner, rate, clock: () => time.now, log: jsonLog('info', (line) => lines.push(line)) })
  const attempt = async (apiKey: string | undefined, address = '198.51.100.7') => {
    try {
      await authenticate({ apiKey, authorization: undefined, address })
      return 'in'
    } catch (error) {
      return isHoldfastError(error) ? error.code : error
    }
  }
  const several = async (count: number, make: (index: number) => string, address?: string) => {
    const outcomes: unknown[] = []
    for (let index = 0; index < count; index += 1) outcomes.push(await attempt(make(index), address))
    return outcomes
  }
  return { time, state, lines, attempt, several, authenticate }
}

const guess = (index: number) => `guess-number-${index}`

test('after some failures an address cannot try short keys, not even the right one', async () => {
  const { state, several, attempt, time } = open()
  expect(await several(5, guess)).toEqual(['unauthorized', 'unauthorized', 'unauthorized', 'rate_limited', 'rate_limited'])
  expect(state.looks).toBe(3)
  expect(await attempt(KEY)).toBe('rate_limited')
  time.now += 1000
  expect(await attempt(KEY)).toBe('in')
})

test('wrong keys do not lock out a good one from the same address: only failures are refused', async () => {
  const { several, attempt, authenticate } = open()
  await several(120, newKey)
  expect(await attempt(MADE_KEY)).toBe('in')
  expect(await several(3, newKey)).toEqual(['rate_limited', 'rate_limited', 'rate_limited'])
  const from = { apiKey: undefined, address: '198.51.100.7' }
  expect(await authenticate({ ...from, authorization: `Bearer ${TOKEN}` })).toMatchObject({ subject: 'oidc:alice' })
  await expect(authenticate({ ...from, authorization: `Bearer ${TOKEN}s` })).rejects.toMatchObject({ code: 'rate_limited' })
})

test('keys that are refused for the rate are not counted as further failures', async () => {
  const { several, attempt, time } = open()
  await several(120, newKey)
  time.now += 1000
  expect(await attempt('wrong')).toBe('unauthorized')
})

test('it says when to come again', async () => {
  const { several, authenticate } = open()
  await several(3, guess)
  await expect(authenticate({ apiKey: 'x', authorization: undefined, address: '198.51.100.7' })).rejects.toMatchObject({
    code: 'rate_limited',
    details: { policy: 'failed-authentication', quota: 3, window_seconds: 3, retry_after_seconds: 1 },
  })
})

test('who was let in from there before is let in still, until the key is bad', async () => {
  const { several, attempt, state } = open()
  expect(await attempt(KEY)).toBe('in')
  await several(10, guess)
  expect(await attempt(KEY)).toBe('in')
  expect(await attempt(KEY, '203.0.113.1')).toBe('in')
  state.key = 'another'
  expect([await attempt(KEY), await attempt(KEY)]).toEqual(['unauthorized', 'rate_limited'])
})

test('a key that is good elsewhere is not looked at for one who guesses', async () => {
  const { several, attempt } = open()
  await attempt(KEY, '203.0.113.1')
  await several(10, guess)
  expect(await attempt(KEY)).toBe('rate_limited')
})

test('addresses are counted each for itself; those of one IPv6 network together', async () => {
  const { several, attempt } = open()
  await several(10, guess)
  expect(await attempt('wrong', '203.0.113.1')).toBe('unauthorized')
  await several(10, guess, '2001:db8::1')
  expect(await attempt('wrong', '2001:db8::ffff')).toBe('rate_limited')
  expect(await attempt('wrong', '2001:db8:0:1::1')).toBe('unauthorized')
})

test('attempts at the same time are paid for afterwards', async () => {
  const { authenticate, time, attempt } = open()
  const tries = Array.from({ length: 10 }, (_, index) => authenticate({ apiKey: guess(index), authorization: undefined, address: 'a' }))
  await Promise.allSettled(tries)
  time.now += 7000
  expect(await attempt('wrong', 'a')).toBe('rate_limited')
  time.now += 1000
  expect(await attempt('wrong', 'a')).toBe('unauthorized')
})

test('a request without a key guesses nothing, and an issuer that is away is nobody’s failure', async () => {
  const { attempt, several, state } = open()
  for (let index = 0; index < 10; index += 1) expect(await attempt(undefined)).toBe('unauthorized')
  state.isDown = true
  expect(new Set(await several(10, guess))).toEqual(new Set(['identity_provider_unavailable']))
  state.isDown = false
  expect(await attempt('wrong')).toBe('unauthorized')
})

test('the log tells reason and address in a bounded number of lines, never the key', async () => {
  const { several, lines, attempt, time } = open(null)
  await attempt(undefined, '203.0.113.1')
  await several(50, guess)
  expect(lines).toHaveLength(10)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'authentication-failed', reason: 'no-credentials', client: '203.0.113.1' })
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ level: 'warn', reason: 'key-not-valid', client: '198.51.100.7' })
  time.now += 1000
  await several(1, guess)
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ unlogged: 41 })
  expect(lines.join('')).not.toContain('guess')
})
