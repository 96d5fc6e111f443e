/** Log lines: one each, whatever is in them. */
import { expect, test } from 'vitest'
import { createLog, errorText } from './log.ts'
import type { LogFormat } from './log.ts'

function logged(format: LogFormat, level: 'debug' | 'warn', use: (log: ReturnType<typeof createLog>) => void): readonly string[] {
  const lines: string[] = []
  use(createLog({ level, format }, (line) => lines.push(line)))
  return lines
}

test('JSON is one object on one line, and gives back what it was given', () => {
  const fields = { text: 'a\n"b" \u2028', count: 3, isGood: true, none: null, missing: undefined }
  const [line = ''] = logged('json', 'debug', (log) => log.info('thing-happened', fields))
  expect(line.indexOf('\n')).toBe(line.length - 1)
  expect(JSON.parse(line)).toEqual({
    ...{ time: expect.stringMatching(/^\d{4}-.*Z$/), level: 'info', event: 'thing-happened' },
    ...{ text: 'a\n"b" \u2028', count: 3, isGood: true, none: null },
  })
})

test('text is one line too: a value that could end it, or pass for another field, stands in quotes', () => {
  const fields = { path: '/a/b', id: 'ses_1', count: 3, none: null, missing: undefined, text: 'a\nb=c "d"' }
  const [line = ''] = logged('text', 'debug', (log) => log.warn('thing-happened', fields))
  expect(line.replace(/^\S+Z /, '')).toBe('WARN  thing-happened path=/a/b id=ses_1 count=3 none=null text="a\\nb=c \\"d\\""\n')
})

test('what is less severe than asked for is left out', () => {
  const lines = logged('text', 'warn', (log) => {
    log.debug('one')
    log.info('two')
    log.warn('three')
    log.error('four')
  })
  expect(lines.map((line) => line.trim().split(/ +/)[2])).toEqual(['three', 'four'])
})

test('an error is told with its causes, and a circle of them ends', () => {
  const root = new Error('no space left')
  expect(errorText(new Error('not made', { cause: root }))).toBe('not made: no space left')
  root.cause = root
  expect(errorText(root).split(': ')).toHaveLength(5)
})
