/** Flags of `sandbox run`: read, or refused with a sentence that names the flag. */
import { expect, test } from 'vitest'
import { parseEnvironment, parseMount, parseTimeoutMs } from './arguments.ts'

test('a mount is read-only unless it says otherwise', () => {
  expect(parseMount('/a:/workspace')).toEqual({ source: '/a', target: '/workspace', mode: 'ro' })
  expect(parseMount('/a:/workspace:rw')).toEqual({ source: '/a', target: '/workspace', mode: 'rw' })
})

test.each([
  ['/a', /must be source:target/],
  ['/a:/b:rx', /must be source:target/],
  ['/a:/b:ro:z', /must be source:target/],
  ['a:/b', /the source must be an absolute path, such as "\$PWD\/a"/],
  ['/a:b', /the target must be an absolute path/],
])('the mount %s is refused', (text, sentence) => expect(() => parseMount(text)).toThrow(sentence))

test('a value may hold equals signs, a name may not be empty', () => {
  expect(parseEnvironment(['A=b=c', 'D='])).toEqual({ A: 'b=c', D: '' })
  expect(() => parseEnvironment(['=x'])).toThrow('--env "=x" must be name=value')
  expect(() => parseEnvironment(['A'])).toThrow('--env "A" must be name=value')
})

test('a time-out is in seconds, fractions too', () => {
  expect(parseTimeoutMs('1.5')).toBe(1500)
  for (const text of ['0', '-1', 'soon', '1e9', ''])
    expect(() => parseTimeoutMs(text)).toThrow(`--timeout ${JSON.stringify(text)} must be a number of seconds`)
})
