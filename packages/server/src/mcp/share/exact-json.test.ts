/** JSON that keeps its digits, whatever else is in it and however much of it there is. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseJson } from './exact-json.ts'

const again = (text: string) => JSON.stringify(parseJson(text))
const LARGE = '12345678901234567890'

describe('exact JSON', () => {
  test.each([
    `{"n":${LARGE}}`,
    `[-${LARGE},{"a":[${LARGE},1,"${LARGE}"]}]`,
    `{"__proto__":${LARGE},"a":{"__proto__":{"b":${LARGE}}}}`,
    String.raw`{"\\\"${LARGE}":"\\","b\\":${LARGE}}`,
    LARGE,
  ])('keeps %s as it is', (text) => expect(again(text)).toBe(text))

  test.each([`[9007199254740991]`, `[1234567890123456.5]`, `[1e400,1234567890123456e3]`])('leaves %s to the parser', (text) =>
    expect(again(text)).toBe(JSON.stringify(JSON.parse(text))),
  )

  test.each([`[0${LARGE}]`, `[${LARGE}`, `[--${LARGE}]`, `["${LARGE}]`, `[${LARGE}"]`, `{${LARGE}:1}`])(
    'refuses %s like the parser',
    (text) => expect(() => parseJson(text)).toThrow(SyntaxError),
  )

  test('writes all JSON again as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify({ value, digits: '1234567890123456' })
        expect(again(text)).toBe(text)
      }),
    )
  })

  test('reads many megabytes of small values beside one large integer', () => {
    const text = `[${'1,'.repeat(7_000_000)}${LARGE}]`
    expect(again(text) === text).toBe(true)
  })

  test('refuses what is nested without end, and not what only looks so', () => {
    const [open, close] = ['['.repeat(4_000_000), ']'.repeat(4_000_000)]
    expect(() => parseJson(`${open}${close}`)).toThrow('nested more than')
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    expect(again(nested(1_000))).toBe(nested(1_000))
    expect(() => parseJson(nested(1_001))).toThrow('nested more than')
    expect(parseJson(`["${open}"]`)).toEqual([open])
  })
})
