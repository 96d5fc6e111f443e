/** Paths of this machine and places in sessions, told apart. */
import { expect, test } from 'vitest'
import { filePlace, insidePlace } from './places.ts'

const ID = 'ses_4k2m4k2m4k2m4k2m'

test.each([
  ['demo:a.txt', { session: { key: 'demo' }, path: 'a.txt' }],
  ['demo:', { session: { key: 'demo' }, path: '.' }],
  ['demo:/etc/hosts', { session: { key: 'demo' }, path: '/etc/hosts' }],
  [`${ID}:a:b`, { session: { id: ID }, path: 'a:b' }],
  ['app:ana:1:/workspace/x', { session: { key: 'app:ana:1' }, path: '/workspace/x' }],
  ['app:ana:1:x', { session: { key: 'app:ana:1' }, path: 'x' }],
  ['team/a:/x', { session: { key: 'team/a' }, path: '/x' }],
])('%s is in a session', (text, place) => expect(insidePlace(text, {})).toEqual(place))

test.each(['-', 'a.txt', './a:b', '../a:b', '/tmp/a:b', 'notes/a:b'])('%s is of this machine', (text) =>
  expect(insidePlace(text, {})).toBe(null),
)

test('flags name the session of a path that begins with a colon', () => {
  expect(insidePlace(':a.txt', { scope: 'chat', var: { launcher_id: '7' } })).toEqual({
    session: { scope: 'chat', variables: { launcher_id: '7' } },
    path: 'a.txt',
  })
  expect(() => insidePlace(':a.txt', {})).toThrow('name the session')
  expect(() => insidePlace('demo:a.txt', { session: 'demo' })).toThrow('write :path instead')
})

test('for verbs about files a session alone is its workspace', () => {
  expect(filePlace('demo', {})).toEqual({ session: { key: 'demo' }, path: '.' })
  expect(filePlace('a/b', { session: 'demo' })).toEqual({ session: { key: 'demo' }, path: 'a/b' })
  expect(() => filePlace('/etc', {})).toThrow('names no session; write session:path')
})
