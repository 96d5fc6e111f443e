/** Long output keeps its head and its tail, says how much is missing, and is never longer than the limit. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OUTPUT_LIMIT, shorten } from './truncation.ts'

test('what fits is left as it is', () => {
  const text = 'x'.repeat(OUTPUT_LIMIT)
  expect(shorten(text)).toEqual({ text, isTruncated: false })
})

test('60 % is the head and 40 % the tail, with a true count between them', () => {
  const { text, isTruncated } = shorten('h'.repeat(50_000) + 't'.repeat(50_000))
  const { head, missing, tail } =
    /^(?<head>h+)\n\n\.\.\. \[(?<missing>\d+) characters truncated\] \.\.\.\n\n(?<tail>t+)$/.exec(text)?.groups ?? {}
  expect(isTruncated).toBe(true)
  expect(text.length).toBeLessThanOrEqual(OUTPUT_LIMIT)
  expect(text.length).toBeGreaterThan(OUTPUT_LIMIT - 5)
  expect((head?.length ?? 0) / ((head?.length ?? 0) + (tail?.length ?? 0))).toBeCloseTo(0.6, 2)
  expect(Number(missing)).toBe(100_000 - (head?.length ?? 0) - (tail?.length ?? 0))
})

test('whatever the text and the limit, it fits, and no character is cut in half', () => {
  const texts = fc.array(fc.constantFrom('a', '\n', '界', '😀'), { maxLength: 300, size: 'max' }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, fc.integer({ min: 0, max: 200 }), (text, limit) => {
      const short = shorten(text, limit)
      expect(short.text.length).toBeLessThanOrEqual(Math.max(limit, 0))
      expect(short.text.isWellFormed()).toBe(true)
      expect(short.isTruncated).toBe(text.length > limit)
    }),
  )
})
