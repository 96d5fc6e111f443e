/** Lists of tools that do not end, or are too large for anybody. */
import { expect, test } from 'vitest'
import { allTools } from './list-tools.ts'

test('all pages are one list, in their order, without what is no tool or cannot be passed on', async () => {
  const deep: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  const pages = [
    { tools: [{ name: 'one' }, { title: 'nameless' }], nextCursor: 'a' },
    { tools: [{ name: 'deep', inputSchema: deep }, { name: 'two' }], nextCursor: '' },
  ]
  const asked: unknown[] = []
  const listed = await allTools(async (params) => {
    asked.push(params)
    return { result: pages.shift() ?? {} }
  })
  expect(listed.map(({ name }) => name)).toEqual(['one', 'two'])
  expect(asked).toEqual([{}, { cursor: 'a' }])
})

test('a list without an end is cut, by its pages and by its size', async () => {
  let pages = 0
  await allTools(async () => ({ result: { tools: [], nextCursor: `${(pages += 1)}` } }))
  expect(pages).toBe(100)
  pages = 0
  const description = 'x'.repeat(1024 * 1024)
  const listed = await allTools(async () => ({ result: { tools: [{ name: 'large', description }], nextCursor: `${(pages += 1)}` } }))
  expect([pages, listed.length]).toEqual([8, 7])
})

test('a refusal is told', async () => {
  const refused = allTools(async () => ({ error: { code: -32603, message: 'not today' } }))
  await expect(refused).rejects.toMatchObject({ code: 'mcp_call_refused', message: expect.stringContaining('not today') })
})
