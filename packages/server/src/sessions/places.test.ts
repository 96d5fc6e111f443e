/** Which tenant gives up a place, and what keeps a session from giving up its own. */
import { describe, expect, test } from 'vitest'
import { tenantsInOrder } from './places.ts'
import { createSessionUses } from './session-uses.ts'

const hosted = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).flatMap(([tenantId, count]) => Array.from({ length: count }, () => ({ tenantId })))
const order = (counts: Readonly<Record<string, number>>, newcomer: string, places: number) => [
  ...tenantsInOrder(hosted(counts), newcomer, places).keys(),
]

describe('the order in which tenants give up places', () => {
  test.each<[string, Readonly<Record<string, number>>, string, number, readonly string[]]>([
    ['a tenant alone makes room by itself', { a: 100 }, 'a', 100, ['a']],
    ['a second tenant takes from the first', { a: 100 }, 'b', 100, ['a', 'b']],
    ['one at its share makes room by itself', { a: 50, b: 50 }, 'b', 100, ['b']],
    ['the largest above its share comes first', { a: 40, b: 50, c: 10 }, 'c', 100, ['b', 'a', 'c']],
    ['of two equal ones the newcomer’s own', { a: 3, b: 2 }, 'b', 5, ['b', 'a']],
    ['a tenant within its share gives nothing to another', { a: 60, b: 40 }, 'a', 100, ['a']],
    ['with more tenants than places each is above its share', { a: 1, b: 1 }, 'c', 2, ['c', 'a', 'b']],
  ])('%s', (_, counts, newcomer, places, expected) => {
    expect(order(counts, newcomer, places)).toEqual(expected)
  })
})

describe('uses of a session', () => {
  test('a session in use is left alone until each use has ended', async () => {
    const uses = createSessionUses()
    const [first, second] = [await uses.begin('ses_a'), await uses.begin('ses_a')]
    first()
    first()
    expect(await uses.unlessUsed('ses_a', async () => 'done')).toBeNull()
    expect(await uses.unlessUsed('ses_b', async () => 'done')).toBe('done')
    second()
    expect(await uses.unlessUsed('ses_a', async () => 'done')).toBe('done')
  })

  test('a use that begins meanwhile waits for the outcome, also of a failure', async () => {
    const uses = createSessionUses()
    const happened: string[] = []
    const gate = Promise.withResolvers<never>()
    const work = uses.unlessUsed('ses_a', () => gate.promise).catch(() => happened.push('failed'))
    const use = uses.begin('ses_a').then(() => happened.push('used'))
    expect(await uses.unlessUsed('ses_a', async () => 'second')).toBeNull()
    gate.reject(new Error('no'))
    await Promise.all([work, use])
    expect(happened.toSorted()).toEqual(['failed', 'used'])
    expect(uses.isUsed('ses_a')).toBe(true)
  })
})
