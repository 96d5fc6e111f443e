/** One passage for another, exactly. */
import { expect, test } from 'vitest'
import { replaceOnce } from './edit-tool.ts'

const replace = (content: string | Buffer, before: string, after: string) =>
  replaceOnce(Buffer.from(content), Buffer.from(before), Buffer.from(after))

test('the one passage is replaced, and nothing else is touched', () => {
  expect(replace('one two three', 'two', '$& \\1').toString()).toBe('one $& \\1 three')
  expect(replace('only', 'only', '').toString()).toBe('')
  const binary = Buffer.from([0xff, 0x00, 0x61, 0xfe])
  expect(replace(binary, 'a', 'é')).toEqual(Buffer.from([0xff, 0x00, 0xc3, 0xa9, 0xfe]))
})

test('what is not there, or there several times, is refused with what to do', () => {
  expect(() => replace('abc', 'x', 'y')).toThrow(/^old_string is not in the file/)
  expect(() => replace('a b a b a', 'a', 'y')).toThrow(/stands in 3 places/)
  expect(() => replace('aaa', 'aa', 'y')).toThrow(/stands in 2 places/)
})
