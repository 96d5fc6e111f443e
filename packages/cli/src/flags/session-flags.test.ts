/** How a session may be named: once, and in one way. */
import { expect, test } from 'vitest'
import { namedSession, takeSession } from './session-flags.ts'

const chat = { scope: 'chat', var: { launcher_id: '7' } }

test('an id is told from a key', () => {
  expect(namedSession('ses_4k2m4k2m4k2m4k2m', {})).toEqual({ id: 'ses_4k2m4k2m4k2m4k2m' })
  expect(namedSession('my-task', {})).toEqual({ key: 'my-task' })
  expect(namedSession('ses_x', {})).toEqual({ key: 'ses_x' })
  expect(namedSession(undefined, { session: 'my-task' })).toEqual({ key: 'my-task' })
  expect(namedSession(undefined, chat)).toEqual({ scope: 'chat', variables: { launcher_id: '7' } })
  expect(namedSession(undefined, { var: { a: '1' } })).toEqual({ scope: undefined, variables: { a: '1' } })
})

test('a pipeline names it where nothing else does', () => {
  expect(namedSession(undefined, { pipeline: 'support' })).toEqual({ scope: undefined, variables: {} })
  expect(namedSession(undefined, { pipeline: 'support', var: { a: '1' } })).toEqual({ scope: undefined, variables: { a: '1' } })
  expect(namedSession('my-task', { pipeline: 'support' })).toEqual({ key: 'my-task' })
})

test('none and more than one are refused', () => {
  expect(() => namedSession(undefined, {})).toThrow('name the session: its id or key')
  expect(() => namedSession(' ', {})).toThrow('the session is empty')
  for (const flags of [{ session: 'a' }, chat]) expect(() => namedSession('my-task', flags)).toThrow('name the session once')
})

test('where flags name it, all arguments are the verb’s own', () => {
  expect(takeSession(['demo', 'web'], {}, ['execution'])).toEqual({ name: { key: 'demo' }, rest: ['web'] })
  expect(takeSession(['web'], { session: 'demo' }, ['execution'])).toEqual({ name: { key: 'demo' }, rest: ['web'] })
  expect(() => takeSession(['demo'], {}, ['execution'])).toThrow('give <session> <execution>; got 1')
  expect(() => takeSession(['demo', 'web'], chat, ['execution'])).toThrow('give <execution>; got 2')
})
