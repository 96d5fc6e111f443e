/** Flags to values, or a sentence that says what is wanted. */
import { expect, test } from 'vitest'
import {
  assignment,
  byteSizeOrNone,
  commandTime,
  commandTimeOrNone,
  duration,
  durationOrNone,
  orNull,
  restartRules,
  wholeNumber,
  pastTime,
} from './parse.ts'

test.each([
  ['90', 90],
  ['90s', 90],
  ['5m', 300],
  ['2h', 7200],
  ['7d', 604_800],
])('%s is %d seconds', (text, seconds) => expect(duration(text)).toBe(seconds))

test.each(['', '-1', '1.5h', '5 m', 'soon', '5w'])('%j is no time', (text) => expect(() => duration(text)).toThrow('such as 90, 90s, 5m'))

test('none lifts a limit, and nothing given is nothing asked for', () => {
  expect([orNull(durationOrNone('none')), orNull(durationOrNone('5m')), orNull(undefined)]).toEqual([null, 300, undefined])
})

test('sizes have units', () => {
  expect(['512', '512k', '512m', '2G', '1GiB', 'none'].map(byteSizeOrNone)).toEqual([512, 524_288, 536_870_912, 2 ** 31, 2 ** 30, 'none'])
  for (const text of ['', 'm', '1.5g', '-1']) expect(() => byteSizeOrNone(text)).toThrow('such as 512m or 2g')
})

test('a value may hold equals signs, a name may not be empty', () => {
  expect(assignment('A=b=c', undefined)).toEqual({ A: 'b=c' })
  expect(assignment('B=', { A: '1' })).toEqual({ A: '1', B: '' })
  for (const text of ['=x', 'A']) expect(() => assignment(text, undefined)).toThrow('name=value')
})

test('numbers and command times have bounds', () => {
  expect(wholeNumber(1, 10)('10')).toBe(10)
  for (const text of ['0', '11', '1e1', '']) expect(() => wholeNumber(1, 10)(text)).toThrow('from 1 to 10')
  expect(commandTime('1.5')).toBe(1500)
  expect(commandTimeOrNone('1.5')).toBe(1500)
  expect(commandTimeOrNone('none')).toBeNull()
  for (const text of ['0', '3601', 'soon']) expect(() => commandTime(text)).toThrow('at most 3600')
})

test('a rule to start a process again is a word, with how often at most', () => {
  expect(restartRules('always')).toEqual({ policy: 'always' })
  expect(restartRules('no')).toEqual({ policy: 'no' })
  expect(restartRules('on-failure')).toEqual({ policy: 'on-failure' })
  expect(restartRules('on-failure:5')).toEqual({ policy: 'on-failure', maxRestarts: 5 })
  for (const text of ['', 'maybe', 'always:5', 'on-failure:', 'on-failure:-1']) expect(() => restartRules(text)).toThrow('on-failure:5')
})

test('a time in the past is a span before now or a moment', () => {
  expect(pastTime('2026-01-31T12:00:00Z')).toBe(Date.UTC(2026, 0, 31, 12))
  expect(pastTime('2026-01-31T12:00:00.250+02:00')).toBe(Date.UTC(2026, 0, 31, 10, 0, 0, 250))
  expect(Math.abs(Date.now() - 600_000 - pastTime('10m'))).toBeLessThan(60_000)
  for (const text of ['', 'yesterday', '10 m', '2026-13-01', '1.5h']) expect(() => pastTime(text)).toThrow('time span')
})
