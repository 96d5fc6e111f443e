/** Flags and sessions where people put them. */
import { expect, test } from 'vitest'
import { inOrder, leadingFlags } from './argument-order.ts'
import { createProgram } from './program.ts'

const ordered = (line: string) => inOrder(createProgram(), line.split(' ')).join(' ')

test.each([
  ['--url http://h ps demo', 'ps --url http://h demo'],
  ['--url=http://h -o json sessions ls -a', 'sessions ls --url=http://h -o json -a'],
  ['--tenant t --as a session get x', 'session get --tenant t --as a x'],
  ['ps demo --url http://h', 'ps demo --url http://h'],
  ['--help', '--help'],
  ['--url', '--url'],
  ['--url http://h', '--url http://h'],
])('%s is read as %s', (line, expected) => expect(ordered(line)).toBe(expected))

test.each([
  ['exec demo -- ls -l', 'exec -s demo -- ls -l'],
  ['exec demo -c ls', 'exec -s demo -c ls'],
  ['--url http://h exec demo -- ls', 'exec --url http://h -s demo -- ls'],
  ['exec -s demo -- ls', 'exec -s demo -- ls'],
  ['exec -s demo ls -l', 'exec -s demo ls -l'],
  ['exec demo ls', 'exec demo ls'],
  ['exec', 'exec'],
])('%s names its session: %s', (line, expected) => expect(ordered(line)).toBe(expected))

test('the verb is found behind the flags', () => {
  const words = ['--url', 'http://h', 'up']
  expect(words[leadingFlags(words)]).toBe('up')
})
