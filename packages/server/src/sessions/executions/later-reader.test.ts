/** The reader of a process that comes late, holds it up, and is let go. */
import { expect, test } from 'vitest'
import type { OutputChunk } from '../../guest/inside.ts'
import { LaterReader } from './later-reader.ts'

const chunk = (text: string): OutputChunk => ({ channel: 'stdout', bytes: Buffer.from(text), seq: text.length })

test('one that comes later sees what comes from then on', () => {
  const seen: string[] = []
  const reader = new LaterReader(undefined)
  expect(reader.take(chunk('early'))).toBe(undefined)
  reader.listen(({ bytes }) => void seen.push(bytes.toString()))
  void reader.take(chunk('late'))
  expect(seen).toEqual(['late'])
})

test('one that holds the process up is let go with its end, and hears nothing more', async () => {
  const seen: string[] = []
  const reader = new LaterReader(({ bytes }) => {
    seen.push(bytes.toString())
    return new Promise<void>(() => undefined)
  })
  const held = reader.take(chunk('one'))
  expect(held).toBeInstanceOf(Promise)
  reader.letGo()
  await held
  expect(reader.take(chunk('two'))).toBe(undefined)
  reader.listen(() => void seen.push('never'))
  void reader.take(chunk('three'))
  expect(seen).toEqual(['one'])
})

test('another one takes over from one that holds it up', async () => {
  const seen: string[] = []
  const reader = new LaterReader(() => new Promise<void>(() => undefined))
  const held = reader.take(chunk('one'))
  reader.listen(({ bytes }) => void seen.push(bytes.toString()))
  await held
  void reader.take(chunk('two'))
  expect(seen).toEqual(['two'])
})

test('what it fails with is told', async () => {
  const reader = new LaterReader(() => Promise.reject(new Error('broken')))
  await expect(reader.take(chunk('one'))).rejects.toThrow('broken')
})
