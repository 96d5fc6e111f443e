/** Messages that are refused before anybody reads them. */
import { expect, test } from 'vitest'
import { readMessage, understand } from './message.ts'

test('several in one, and one that is nested without end', async () => {
  expect(() => understand('[{"method":"a"}]')).toThrow('one message at a time')
  const deep = Buffer.from(`{"method":"a","params":${'['.repeat(1_000_000)}`)
  await expect(readMessage(ReadableStream.from([deep]))).rejects.toThrow('nested too deep')
  const heavy = Buffer.from(`{"method":"a","params":[${'{},'.repeat(60_000)}{}]}`)
  await expect(readMessage(ReadableStream.from([heavy]))).rejects.toMatchObject({ code: 'payload_too_large' })
})

test('one that says what it cancels is understood, and what is no message is left to the library', () => {
  const cancelled = '{"method":"notifications/cancelled","params":{"requestId":7}}'
  expect(understand(cancelled)).toEqual({ method: 'notifications/cancelled', id: null, cancels: 7 })
  expect(understand('no message')).toEqual({ method: null, id: null, cancels: null })
})
