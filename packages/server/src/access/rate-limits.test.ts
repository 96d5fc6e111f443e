/** How often somebody may ask: each for itself, and each user of a program for itself. */
import { isHoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { Principal } from './principal.ts'
import { rateLimit } from './rate-limits.ts'

const ADA: Principal = {
  ...{ tenantId: 'tnt_a', subject: 'ada', groups: [], role: 'member', kind: 'user', keyId: 'key_ada', onBehalfOf: null },
}

function open(rate: { readonly perSecond: number; readonly burst: number } | null = { perSecond: 1, burst: 2 }) {
  const time = { now: 1_000_000 }
  const admit = rateLimit({ rate, clock: () => time.now })
  const times = (principal: Principal, count: number, linkId?: string) => {
    let admitted = 0
    for (let attempt = 0; attempt < count; attempt += 1) {
      try {
        admit(principal, linkId)
        admitted += 1
      } catch (error) {
        if (!isHoldfastError(error, 'rate_limited')) throw error
      }
    }
    return admitted
  }
  return { time, admit, times }
}

test('a burst is admitted, then a second is told when to come again', () => {
  const { time, admit, times } = open()
  expect(times(ADA, 5)).toBe(2)
  expect(() => admit(ADA)).toThrow(
    expect.objectContaining({
      code: 'rate_limited',
      details: { policy: 'requests', quota: 2, window_seconds: 2, retry_after_seconds: 1 },
    }),
  )
  time.now += 1000
  expect(times(ADA, 5)).toBe(1)
})

test('each link has a bucket of its own, and leaves that of its owner alone', () => {
  const { times } = open()
  expect([times(ADA, 5, 'lnk_1'), times(ADA, 5, 'lnk_2'), times(ADA, 5)]).toEqual([2, 2, 2])
})

test.each<[what: string, other: Partial<Principal>]>([
  ['another key of the same person', { keyId: 'key_other' }],
  ['a user whom a program speaks for', { keyId: 'key_bot', kind: 'service', onBehalfOf: 'ada' }],
  ['the bearer of a token', { keyId: 'oidc' }],
])('%s has a bucket of its own', (_what, other) => {
  const { times } = open()
  expect(times(ADA, 5)).toBe(2)
  expect(times({ ...ADA, ...other }, 5)).toBe(2)
})

test('users whom one program speaks for, and bearers of tokens, are counted each for itself', () => {
  for (const base of [{ ...ADA, keyId: 'key_bot', kind: 'service', onBehalfOf: 'x' } as const, { ...ADA, keyId: 'oidc' } as const]) {
    const { times } = open()
    expect([times(base, 5), times({ ...base, subject: 'bob' }, 5), times({ ...base, tenantId: 'tnt_b' }, 5), times(base, 5)]).toEqual([
      ...[2, 2, 2, 0],
    ])
  }
})

test('a service key has a limit for all of its users together, and other keys have not', () => {
  const admit = rateLimit({ rate: { perSecond: 5, burst: 10 }, serviceRate: { perSecond: 20, burst: 40 }, clock: () => 1_000_000 })
  const refusals: unknown[] = []
  const admitted = (principals: readonly Principal[]) =>
    principals.filter((principal) => {
      try {
        admit(principal)
        return true
      } catch (error) {
        refusals.push(error)
        return false
      }
    }).length
  const service = { ...ADA, keyId: 'key_bot', kind: 'service', onBehalfOf: 'x' } as const
  expect(admitted(Array.from({ length: 60 }, (_, at) => ({ ...service, subject: `user-${at}` })))).toBe(40)
  expect(refusals[0]).toMatchObject({ code: 'rate_limited', details: { policy: 'service-requests', quota: 40 } })
  expect(admitted([{ ...service, keyId: 'key_other' }, ADA, { ...ADA, keyId: 'key_bot' }])).toBe(3)
})

test('a key is one principal, whatever tenant its holder means', () => {
  const { times } = open()
  expect([times(ADA, 2), times({ ...ADA, tenantId: 'tnt_b' }, 2)]).toEqual([2, 0])
})

test('where there is no limit everybody is admitted', () => {
  expect(open(null).times(ADA, 1000)).toBe(1000)
})
