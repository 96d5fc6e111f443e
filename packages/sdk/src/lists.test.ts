/** Lists that come in pages. */
import { expect, test } from 'vitest'
import { Holdfast } from './index.ts'

function pagesOf(...pages: readonly (readonly string[])[]) {
  const asked: string[] = []
  const fetch = async (input: string | URL | Request) => {
    const url = new URL(input instanceof Request ? input.url : input)
    asked.push(url.search)
    const index = Number(url.searchParams.get('page_token') ?? 0)
    const items = (pages[index] ?? []).map((id) => ({ id, groups: [] }))
    return Response.json({ items, next_page_token: index + 1 < pages.length ? String(index + 1) : null })
  }
  return { asked, keys: new Holdfast({ url: 'http://test', fetch }).keys }
}

test('all pages are read as one, and no more of them than are wanted', async () => {
  const { asked, keys } = pagesOf(['a', 'b'], [], ['c'])
  const ids: string[] = []
  for await (const { id } of keys.list({ pageSize: 2 })) ids.push(id)
  expect(ids).toEqual(['a', 'b', 'c'])
  expect(asked).toEqual(['?page_size=2', '?page_size=2&page_token=1', '?page_size=2&page_token=2'])
  asked.length = 0
  expect(await keys.list().take(2)).toHaveLength(2)
  expect(await keys.list().take(0)).toEqual([])
  expect(asked).toHaveLength(1)
})

test('one page can be asked for by its token', async () => {
  const { keys } = pagesOf(['a'], ['b'])
  expect(await keys.list().page()).toMatchObject({ items: [{ id: 'a' }], nextPageToken: '1' })
  expect(await keys.list().page('1')).toMatchObject({ items: [{ id: 'b' }], nextPageToken: null })
})
