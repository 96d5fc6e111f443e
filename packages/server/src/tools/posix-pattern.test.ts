/** Regular expressions as models write them → what the guest's engine takes. */
import { expect, test } from 'vitest'
import { posixPattern } from './posix-pattern.ts'
import { ToolFailure } from './tool-failure.ts'

test.each([
  [String.raw`def \w+\(`, String.raw`def \w+\(`],
  [String.raw`(?:a|b)+?c`, '(a|b)+c'],
  [String.raw`(?P<year>\d{4})-(?<month>\d{2,})`, String.raw`(\d{4})-(\d{2,})`],
  ['a.*?b{,3}?', 'a.*b{0,3}'],
  ['function f() {', String.raw`function f() \{`],
  [String.raw`[\w.-]+@[\d\s]`, '[[:alnum:]_.-]+@[0-9[:space:]]'],
  [String.raw`[\]^a\-\\]`, String.raw`[]a\^-]`],
  ['[^a-z]', '[^a-z]'],
  ['[[:upper:]]', '[[:upper:]]'],
  ['é+日', '(é)+日'],
  ['[éa-c]x', '(é|[a-c])x'],
  [String.raw`\x41\u00e9\t\/\"`, 'Aé\t/"'],
  [String.raw`\x2e\Afoo\Z`, String.raw`\.^foo$`],
  ['x[a-]', 'x[a-]'],
  [String.raw`[\^][\^-][^\^]`, String.raw`\^[-^][^^]`],
])('%s is %s', (pattern, regex) => {
  expect(posixPattern(pattern)).toEqual({ regex, ignoreCase: false })
})

test('flags at the beginning count', () => {
  expect(posixPattern('(?i)todo')).toEqual({ regex: 'todo', ignoreCase: true })
})

test.each(['(?=a)', '(?!a)', '(?<=a)b', '(a)\\1', '\\p{L}', '[a', 'a\\', '[^é]', '[一-龥]', '[z-a]', '\\u{110000}', '\\x00', '[\\W]'])(
  '%s is refused in words for the model',
  (pattern) => {
    expect(() => posixPattern(pattern)).toThrow(ToolFailure)
    expect(() => posixPattern(pattern)).toThrow(/^pattern: /)
  },
)
