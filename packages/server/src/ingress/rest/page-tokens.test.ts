/** Page tokens: read back by whoever they were given to, and by nobody else. */
import { isHoldfastError } from '@holdfast/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callerOf } from '../../access/authorize.ts'
import type { Principal } from '../../access/principal.ts'
import { createPages } from './page-tokens.ts'
import type { Place } from './page-tokens.ts'
import type { Call } from './route.ts'

const KEY = new Uint8Array(32).fill(7)
const ADA: Principal = { tenantId: 'tnt_a', subject: 'ada', groups: [], role: 'member', kind: 'user', keyId: 'key_1', onBehalfOf: null }

type PagedCall = Call<unknown, { page_size: number; page_token?: string | undefined }, unknown>

function callOf(query: PagedCall['query'], principal = ADA, params: unknown = {}): PagedCall {
  return {
    ...{ query, params, body: {}, principal, caller: callerOf(principal, { admin_exec: false }), ifMatch: undefined },
    ...{ requestId: 'req_1', signal: new AbortController().signal, header: () => undefined },
    problemOf: () => {
      throw new Error('not here')
    },
    recheck: async () => {},
  }
}

/** Gives the place that a call's token stands for. */
async function placeOf(call: PagedCall, list = 'things', key = KEY): Promise<Place | null | string> {
  let place: Place | null = null
  try {
    await createPages({ key }).page(
      call,
      list,
      async (after) => ((place = after), []),
      () => [0, '', 0],
      () => null,
    )
    return place
  } catch (error) {
    return isHoldfastError(error) ? error.code : String(error)
  }
}

async function tokenFor(place: Place, call = callOf({ page_size: 1 })): Promise<string> {
  const { next_page_token: token } = await createPages({ key: KEY }).page(
    call,
    'things',
    async () => [1, 2],
    () => place,
    (item) => item,
  )
  return token ?? ''
}

test('any place comes back as it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.tuple(fc.maxSafeInteger(), fc.string({ unit: 'binary' }), fc.maxSafeInteger()), async (place) => {
      fc.pre(place[1].isWellFormed())
      expect(await placeOf(callOf({ page_size: 1, page_token: await tokenFor(place) }))).toEqual(
        place.map((part) => (part === 0 ? 0 : part)),
      )
    }),
    { numRuns: 50 },
  )
})

test('a change of any character is seen', async () => {
  const token = await tokenFor([5, 'ses_1', 0])
  // The last character of base64 has bits that mean nothing.
  for (let index = 0; index < token.length - 1; index += 1) {
    const changed = token.slice(0, index) + (token.charAt(index) === 'A' ? 'B' : 'A') + token.slice(index + 1)
    const place = await placeOf(callOf({ page_size: 1, page_token: changed }))
    expect(place).toBe('invalid_page_token')
  }
})

test('it goes with its tenant, its reader, its list, its filter and its installation', async () => {
  const token = await tokenFor([5, 'ses_1', 0])
  const query = { page_size: 9, page_token: token }
  expect(await placeOf(callOf(query))).toEqual([5, 'ses_1', 0])
  expect(await placeOf(callOf(query, { ...ADA, tenantId: 'tnt_b' }))).toBe('invalid_page_token')
  expect(await placeOf(callOf(query, { ...ADA, subject: 'ben' }))).toBe('invalid_page_token')
  expect(await placeOf(callOf(query, { ...ADA, role: 'viewer' }))).toBe('invalid_page_token')
  expect(await placeOf(callOf(query), 'others')).toBe('invalid_page_token')
  expect(await placeOf(callOf(Object.assign({ state: ['idle'] }, query)))).toBe('invalid_page_token')
  expect(await placeOf(callOf(query, ADA, { id: 'ses_2' }))).toBe('invalid_page_token')
  expect(await placeOf(callOf(query), 'things', new Uint8Array(32))).toBe('invalid_page_token')
})

test.each(['', '.', 'a', 'a.b.c', 'WzEsIngiLDBd.', '🦊'])('%j is refused, never a failure', async (token) => {
  expect(await placeOf(callOf({ page_size: 1, page_token: token }))).toBe('invalid_page_token')
})
