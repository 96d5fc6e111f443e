/** The readable key of a scope, to search by. */
import { expect, test } from 'vitest'
import { scopeKey } from './scope-key.ts'

test('variables stand in their places, and doubled braces for themselves', () => {
  expect(scopeKey('{launcher_type}_{launcher_id}', { launcher_type: 'group', launcher_id: '7' })).toBe('group_7')
  expect(scopeKey('{{{a}}}', { a: 'x' })).toBe('{x}')
  expect(scopeKey('{global}', {})).toBe('global')
})

test('what the server would put in place of a missing one is not guessed', () => {
  expect(() => scopeKey('{sender_id}', {})).toThrow('needs --var sender_id=…')
})
