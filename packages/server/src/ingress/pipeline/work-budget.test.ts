/** Shares of callers and tenants, the total, and that everything is given back. */
import { isHoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { ownerOf, parsedWeight, workBudget } from './work-budget.ts'
import type { WorkOwner } from './work-budget.ts'

const SHARES = { perCaller: 10, perTenant: 15, total: 20 }
const owner = (caller: string, tenant = 'a'): WorkOwner => ({ tenant, caller, key: caller })

function codeOf(act: () => unknown): string {
  try {
    act()
    return 'taken'
  } catch (error) {
    return isHoldfastError(error) ? error.code : 'bug'
  }
}

test('refuses above the share of a caller and of a tenant with 429, and above the total with 503', () => {
  const MiB = 1024 * 1024
  const budget = workBudget({ bytes: { perCaller: 10 * MiB, perTenant: 15 * MiB, total: 20 * MiB }, streams: SHARES })
  const reserve = (caller: string, tenant: string, bytes: number) => codeOf(() => budget.begin(owner(caller, tenant)).reserve(bytes * MiB))
  expect(reserve('one', 'a', 10)).toBe('taken')
  expect(reserve('one', 'a', 1)).toBe('capacity_exhausted')
  expect(reserve('two', 'a', 6)).toBe('capacity_exhausted')
  expect(reserve('two', 'a', 5)).toBe('taken')
  expect(reserve('three', 'b', 6)).toBe('server_busy')
  expect(reserve('three', 'b', 5)).toBe('taken')
  expect(budget.inFlight.bytes).toBe(20 * MiB)
  // Large messages of others do not keep small ones out.
  expect(reserve('four', 'c', 0.125)).toBe('taken')
})

test('releases what a request reserved with its answer, once', () => {
  const budget = workBudget({ bytes: SHARES, streams: SHARES })
  const work = budget.begin(owner('one'))
  work.reserve(4)
  work.reserve(6)
  expect(codeOf(() => work.reserve(1))).toBe('capacity_exhausted')
  expect(budget.inFlight.bytes).toBe(10)
  work.end()
  work.end()
  work.reserve(5)
  expect(budget.inFlight.bytes).toBe(0)
})

test('keeps what a request reserved while its stream is open', () => {
  const budget = workBudget({ bytes: SHARES, streams: SHARES })
  const work = budget.begin(owner('one'))
  work.reserve(4)
  const close = work.openStream()
  work.end()
  expect(budget.inFlight).toEqual({ bytes: 4, streams: 1 })
  close()
  close()
  expect(budget.inFlight).toEqual({ bytes: 0, streams: 0 })
})

test('counts streams per key, whomever it speaks for', () => {
  const principal = { tenantId: 'a', groups: [], role: 'member', kind: 'service', keyId: 'key_1', onBehalfOf: 'x' } as const
  const budget = workBudget({ bytes: SHARES, streams: { perCaller: 3, perTenant: 5, total: 9 } })
  const open = (subject: string, keyId = 'key_1') => codeOf(() => budget.begin(ownerOf({ ...principal, subject, keyId })).openStream())
  expect(['anna', 'ben', 'carl', 'dora'].map((subject) => open(subject))).toEqual(['taken', 'taken', 'taken', 'capacity_exhausted'])
  expect(open('emil', 'key_2')).toBe('taken')
  // Tokens of an identity provider are nobody's key.
  expect(open('fred', 'oidc')).toBe('taken')
  expect(open('gina', 'oidc')).toBe('capacity_exhausted')
})

test('weighs what parsing makes of a message', () => {
  expect(parsedWeight(3_000_000, 1_000_000)).toBeGreaterThan(60_000_000)
})
