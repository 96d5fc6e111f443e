/**
 * Lists that come in pages, read as one.
 */
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import type { ApiRequest, Transport } from './transport/transport.ts'

export interface Page<T> {
  readonly items: readonly T[]
  /** `null` on the last page. */
  readonly nextPageToken: string | null
}

export interface PagingOptions extends CallOptions {
  /** How many come with one request: 50 unless given, at most 200. */
  readonly pageSize?: number | undefined
}

/**
 * Nothing is asked before it is read.
 *
 * ```ts
 * for await (const record of holdfast.sessions.list()) …
 * const ten = await holdfast.sessions.list().take(10)
 * ```
 */
export interface List<T> extends AsyncIterable<T> {
  /** The first so many, or all. */
  take(count?: number): Promise<readonly T[]>
  /** One page, to be gone on from by its token. */
  page(pageToken?: string): Promise<Page<T>>
}

interface WirePage<W> {
  readonly items: readonly W[]
  readonly next_page_token: string | null
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- `view` says what the server sends
export function createList<W, T>(
  transport: Transport,
  { path, query = {} }: Pick<ApiRequest, 'path' | 'query'>,
  { pageSize, ...options }: PagingOptions,
  view: (wire: W) => T,
): List<T> {
  async function page(pageToken?: string): Promise<Page<T>> {
    const wire = await transport.json<WirePage<W>>({
      ...callOf(options),
      path,
      query: { ...query, page_size: pageSize, page_token: pageToken },
    })
    return { items: wire.items.map(view), nextPageToken: wire.next_page_token }
  }
  async function* items(): AsyncGenerator<T, void, void> {
    let token: string | null = null
    do {
      const { items: some, nextPageToken }: Page<T> = await page(token ?? undefined)
      yield* some
      token = nextPageToken
    } while (token !== null)
  }
  return {
    page,
    [Symbol.asyncIterator]: items,
    async take(count = Infinity) {
      const taken: T[] = []
      if (count <= 0) return taken
      for await (const item of items()) {
        taken.push(item)
        if (taken.length >= count) break
      }
      return taken
    },
  }
}
