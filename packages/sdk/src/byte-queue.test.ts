/** Bytes between somebody who brings them and somebody who fetches them. */
import { expect, test } from 'vitest'
import { createByteQueue } from './byte-queue.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += new TextDecoder().decode(piece)
  return text
}

test('what is brought is fetched in order, before and after it is waited for', async () => {
  const queue = createByteQueue(10)
  queue.push(bytes('a'))
  const reading = textOf(queue)
  queue.push(bytes('b'))
  await Promise.resolve()
  queue.push(bytes('c'))
  queue.end()
  queue.push(bytes('late'))
  expect(await reading).toBe('abc')
})

test('it is full at its mark, and drained when everything was fetched', async () => {
  const queue = createByteQueue(3)
  queue.push(bytes('ab'))
  expect(queue.isFull()).toBe(false)
  queue.push(bytes('c'))
  expect(queue.isFull()).toBe(true)
  const drained = queue.drained().then(() => 'drained')
  const reader = queue[Symbol.asyncIterator]()
  await reader.next()
  expect(await Promise.race([drained, Promise.resolve('not yet')])).toBe('not yet')
  await reader.next()
  expect(await drained).toBe('drained')
})

test('a failure comes after what was brought before it', async () => {
  const queue = createByteQueue(10)
  queue.push(bytes('a'))
  queue.end(new Error('broken'))
  const reader = queue[Symbol.asyncIterator]()
  expect((await reader.next()).value).toEqual(bytes('a'))
  await expect(reader.next()).rejects.toThrow('broken')
})
