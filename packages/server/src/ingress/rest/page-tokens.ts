/**
 * Page tokens: where the next page begins, in a form that only this installation can write.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A token goes with the caller, the list and the filters it was given for. One that was changed, made up or carried elsewhere is
 * `invalid_page_token`, always with the same words.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import type { Call } from './route.ts'

const TAG_BYTES = 16

/** A place in an order: a time, a name or an id, and where these are not enough a number. */
const Place = z.tuple([z.int(), z.string(), z.int()])
export type Place = readonly [time: number, name: string, number: number]

interface PagedQuery {
  readonly page_size: number
  readonly page_token?: string | undefined
}

export interface Pages {
  /** Reads one page: `read` gets the place after which it begins and how many are wanted. */
  page<T, V>(
    call: Call<unknown, PagedQuery, unknown>,
    list: string,
    read: (after: Place | null, limit: number) => Promise<readonly T[]>,
    placeOf: (item: T) => Place,
    view: (item: T) => V,
  ): Promise<{ readonly items: V[]; readonly next_page_token: string | null }>
}

/** Servers on one database have the same `key`, so that each reads the tokens of the others. */
export function createPages({ key }: { readonly key: Uint8Array }): Pages {
  const tagOf = (context: string, payload: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([context, payload]))
      .digest()
      .subarray(0, TAG_BYTES)

  function write(context: string, place: Place): string {
    const payload = Buffer.from(JSON.stringify(place)).toString('base64url')
    return `${payload}.${tagOf(context, payload).toString('base64url')}`
  }

  function read(context: string, token: string): Place {
    const [payload = '', tag = '', ...rest] = token.split('.')
    const [given, expected] = [Buffer.from(tag, 'base64url'), tagOf(context, payload)]
    if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
      throw new HoldfastError('invalid_page_token', 'page_token: is not a token of this list with these filters')
    return Place.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()))
  }

  return {
    async page(call, list, readItems, placeOf, view) {
      const { page_size: size, page_token: token, ...filter } = call.query
      const context = JSON.stringify([call.principal.tenantId, call.caller.visibility, call.caller.owner, list, call.params, filter])
      // One more than is shown tells whether there is a next page.
      const found = await readItems(token === undefined ? null : read(context, token), size + 1)
      const shown = found.slice(0, size)
      const last = shown.at(-1)
      const isMore = found.length > size && last !== undefined
      return { items: shown.map(view), next_page_token: isMore ? write(context, placeOf(last)) : null }
    },
  }
}
