/** The end of what a process complained of: only stderr, bounded, in whole characters. */
import { expect, test } from 'vitest'
import type { OutputPage, StoredOutput } from '../executions/output-log.ts'
import { complaintsIn, SEARCHED_BYTES, textTail } from './complaints.ts'

test('a tail has whole characters wherever it is cut, and as much as may be', () => {
  const text = 'grüße 漢字 🦊 ﷽ '.repeat(9)
  const bytes = Buffer.from(text)
  for (let most = 0; most <= bytes.length + 1; most += 1) {
    const tail = textTail(bytes, most)
    expect(text.endsWith(tail)).toBe(true)
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(most)
    expect(Buffer.byteLength(tail)).toBeGreaterThan(Math.min(most, bytes.length) - 4)
  }
})

test('what is no UTF-8 is shown as what it is not, and makes no difference to the bound', () => {
  expect(textTail(Buffer.from([0xff, 0x41, 0x80]), 3)).toBe('\uFFFDA\uFFFD')
  expect(textTail(Buffer.alloc(10_000, 0x80), 4)).toBe('')
})

test('only stderr counts, and only what was printed last is looked through', async () => {
  const asked: number[] = []
  const output: Pick<StoredOutput, 'seq' | 'read'> = {
    seq: 1_000_000,
    read: async (after): Promise<OutputPage> => {
      asked.push(after)
      const chunk = (channel: 'stdout' | 'stderr', text: string) => ({ channel, bytes: Buffer.from(text), seq: 1, at: 0 })
      return { chunks: [chunk('stderr', 'oh '), chunk('stdout', 'fine '), chunk('stderr', 'dear')], skippedBytes: 0, seq: 1_000_000 }
    },
  }
  expect((await complaintsIn(output)).toString()).toBe('oh dear')
  expect((await complaintsIn({ ...output, seq: 0 }, 300_000)).toString()).toBe('oh dear')
  expect(asked).toEqual([1_000_000 - SEARCHED_BYTES, 300_000 - SEARCHED_BYTES])
})
