/** Tables: aligned, as wide as the terminal at most, and never a way into the terminal for whoever named something. */
import { expect, test } from 'vitest'
import { cutTo, printable, widthOf } from './printable.ts'
import { facts, table } from './table.ts'
import type { Column } from './table.ts'
import { surfaceOf } from './tint.ts'

interface Row {
  readonly id: string
  readonly name: string
}
const COLUMNS: readonly Column<Row>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name, isFlexible: true, tint: () => 'green' },
  { title: 'STATE', of: () => 'idle' },
]
const rows: readonly Row[] = [
  { id: 'ses_1', name: 'short' },
  { id: 'ses_2', name: 'a name that is much longer than the others' },
]

test('columns are aligned, and nothing follows the last one', () => {
  expect(table(rows, COLUMNS)).toBe(
    [
      'ID     NAME                                        STATE',
      'ses_1  short                                       idle',
      'ses_2  a name that is much longer than the others  idle',
      '',
    ].join('\n'),
  )
})

test('on a terminal no line is wider than it, and what is cut ends with an ellipsis', () => {
  const narrow = table(rows, COLUMNS, surfaceOf({ isTTY: true, columns: 30 }, true))
  expect(narrow).toBe(['ID     NAME              STATE', 'ses_1  short             idle', 'ses_2  a name that is …  idle', ''].join('\n'))
})

test('a terminal that is too narrow for what must be whole shows it anyway', () => {
  expect(table(rows, COLUMNS, surfaceOf({ isTTY: true, columns: 5 }, true)).split('\n')[2]).toBe('ses_2  a name …  idle')
})

test('wide characters take two columns', () => {
  const wide = table(
    [
      { id: '1', name: '你好' },
      { id: '2', name: 'abcd' },
    ],
    COLUMNS,
  )
  expect(wide).toBe(['ID  NAME  STATE', '1   你好  idle', '2   abcd  idle', ''].join('\n'))
  expect([widthOf('你好'), widthOf('é'), widthOf('e\u0301'), widthOf('👋')]).toEqual([4, 1, 1, 2])
  expect(cutTo('你好吗', 4)).toBe('你…')
})

test('there are colours on a terminal only, and none where NO_COLOR is set', () => {
  const painted = (isTTY: boolean, isPlain: boolean) => table(rows.slice(0, 1), COLUMNS, surfaceOf({ isTTY, columns: 80 }, isPlain))
  expect(painted(true, false)).toContain('\u001B[32mshort\u001B[39m')
  for (const plain of [painted(true, true), painted(false, false)]) expect(plain).not.toContain('\u001B')
})

test('what others named cannot move the cursor, end the line or turn the text around', () => {
  const hostile = 'a\u001B[2Jb\r\nc\u0007\u009B31m\u202Ed\u2028'
  expect(printable(hostile)).toBe(String.raw`a\x1b[2Jb\x0d\x0ac\x07\x9b31m\u{202e}d\u{2028}`)
  expect(table([{ id: '1', name: hostile }], COLUMNS).split('\n')).toHaveLength(3)
  expect(facts([['key', hostile]])).toBe(`key  ${printable(hostile)}\n`)
})
