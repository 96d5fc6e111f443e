/** Requests become keys: which variable counts, what stands for a missing one, and who has the last word. */
import { expect, test } from 'vitest'
import { isHoldfastError } from '@holdfast/protocol'
import type { ScopeRequest } from '@holdfast/protocol'
import { SCOPE_CHOICES } from './choices.ts'
import { scopePolicy } from './scope-policy.ts'
import { explicitKey } from './scope.ts'

/** As the seeds have it: what is missing becomes a word. */
const policy = scopePolicy({ newTaskId: () => 'generated', missing: 'unknown' })
const strict = scopePolicy({ newTaskId: () => 'generated' })
const keyOf = (scope: string, variables?: ScopeRequest['variables']) => policy.resolve({ scope, variables }).key
const hashOf = (scope: string, variables?: ScopeRequest['variables']) => policy.resolve({ scope, variables }).keyHash

const everything = {
  launcher_type: 'group',
  launcher_id: 123456,
  sender_id: '789',
  conversation_id: 'a1b2',
  query_id: 42,
  user_id: 'u1',
  task_id: 't1',
}

test.each([
  ['global', 'global', 'unchanged'],
  ['chat', 'group_123456', 'unknown_unknown'],
  ['user', 'group_123456_789', 'unknown_unknown_unknown'],
  ['conversation', 'group_123456_a1b2', 'unknown_unknown_unknown'],
  ['message', '42', 'unknown'],
  ['app', 'app:u1:t1', 'app:anonymous:generated'],
  ['desktop', 'desktop:u1:t1', 'desktop:anonymous:generated'],
  ['{sender_id}', '789', 'unknown'],
  ['team-{user_id}-{task_id}-{{x}}', 'team-u1-t1-{x}', 'team-unknown-unknown-{x}'],
])('the scope %s gives %s, and %s when nothing is sent', (scope, full, empty) => {
  expect(keyOf(scope, everything)).toBe(full)
  expect(keyOf(scope)).toBe(empty === 'unchanged' ? full : empty)
  const blank = Object.fromEntries(Object.keys(everything).map((name) => [name, '']))
  expect(keyOf(scope, blank)).toBe(keyOf(scope))
})

test('a misspelt variable is refused by its name, together with the one that it leaves out', () => {
  const variables = { launcher_type: 'group', launcher_id: '7', senderId: '1' }
  expect(() => strict.resolve({ scope: 'user', variables })).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      message: "variables.sender_id: is missing; the scope 'user' needs it; variables.senderId: is not a variable of the scope 'user'",
      details: {
        scope: 'user',
        problems: [
          { field: 'variables.sender_id', problem: "is missing; the scope 'user' needs it" },
          { field: 'variables.senderId', problem: "is not a variable of the scope 'user'" },
        ],
      },
    }),
  )
})

test.each([
  ['chat', { launcher_type: 'group' }, ['launcher_id']],
  ['chat', { launcher_type: 'group', launcher_id: '' }, ['launcher_id']],
  ['app', { task_id: 't' }, ['user_id']],
  ['{room}', { room: 'a', floor: 2 }, ['floor']],
  ['{constructor}', {}, ['constructor']],
])('the scope %s with %j is refused for %j', (scope, variables, names) => {
  expect(() => strict.resolve({ scope, variables })).toThrow(
    expect.objectContaining({
      details: expect.objectContaining({ problems: names.map((name) => expect.objectContaining({ field: `variables.${name}` })) }),
    }),
  )
})

test('what every host may send is accepted with any scope, and a task that nobody names is a new one', () => {
  for (const scope of ['global', 'chat', '{sender_id}'])
    expect(strict.resolve({ scope, variables: everything }).key).toBe(keyOf(scope, everything))
  expect(strict.resolve({ scope: 'app', variables: { user_id: 'u' } }).key).toBe('app:u:generated')
  expect(strict.resolve({ scope: 'global' }).key).toBe('global')
})

test('a request or the operator may allow missing variables, and a request may refuse them again', () => {
  expect(strict.resolve({ scope: 'user', missing: 'unknown' }).keyHash).toBe(hashOf('user'))
  expect(() => policy.resolve({ scope: 'user', missing: 'refuse' })).toThrow(/variables.sender_id: is missing/)
})

test('a forced scope names what it misses, and lets variables of the scope that was asked for pass', () => {
  const forced = scopePolicy({ forcedScope: '{sender_id}' })
  expect(() => forced.resolve({ scope: '{room}', variables: { room: 'a' } })).toThrow(
    /^variables.sender_id: is missing; the scope '\{sender_id\}' needs it$/,
  )
  expect(forced.resolve({ scope: '{room}', variables: { room: 'a', sender_id: 1 } }).key).toBe('1')
})

test('a key with the form of a session id is marked, and no other', () => {
  expect(policy.resolveKey('ses_0123456789abcdef')).toMatchObject({ hasIdForm: true })
  for (const text of ['ses_0123456789abcde', 'ses_0123456789abcdefg', 'ses_0123456789ABCDEF', 'my-task', ' ses_0123456789abcdef'])
    expect(policy.resolveKey(text)).not.toHaveProperty('hasIdForm')
})

test('a request without a scope is per chat', () => {
  expect(policy.resolve({ variables: everything })).toMatchObject({ scope: 'chat', key: 'group_123456', idleSeconds: 300, forced: false })
})

test('the operator may choose another default', () => {
  const result = scopePolicy({ defaultScope: '{sender_id}' }).resolve({ variables: everything })
  expect(result).toMatchObject({ scope: '{sender_id}', key: '789', idleSeconds: 300, forced: false })
})

test.each([
  [{ task_id: 't', conversation_id: 'c' }, 'app:anonymous:t'],
  [{ task_id: '', conversation_id: 'c' }, 'app:anonymous:c'],
  [{ conversation_id: 'local-17' }, 'app:anonymous:local-17'],
  [{ conversation_id: '' }, 'app:anonymous:generated'],
])('the task of %j is the task, else the conversation, else a new one', (variables, key) => {
  expect(keyOf('app', variables)).toBe(key)
})

test('tasks that nobody names are each a new one, or all the default one where ids are not made', () => {
  let count = 0
  const counting = scopePolicy({ newTaskId: () => `id-${(count += 1)}`, missing: 'unknown' })
  const [first, second] = [counting.resolve({ scope: 'app' }), counting.resolve({ scope: 'app' })]
  expect([first.key, second.key]).toEqual(['app:anonymous:id-1', 'app:anonymous:id-2'])
  expect(first.keyHash).not.toBe(second.keyHash)
  expect(scopePolicy({ missing: 'unknown' }).resolve({ scope: 'desktop' }).key).toBe('desktop:anonymous:default')
})

test('no id is made for a task that has one, or where no task is asked for', () => {
  const never = scopePolicy({
    missing: 'unknown',
    newTaskId: () => {
      throw new Error('an id was made')
    },
  })
  expect(never.resolve({ scope: 'app', variables: { conversation_id: 'c' } }).key).toBe('app:anonymous:c')
  expect(never.resolve({ scope: 'chat' }).key).toBe('unknown_unknown')
  expect(never.resolve({ scope: '{task_id}' }).key).toBe('unknown')
})

test('a template that a choice stands for is that choice', () => {
  for (const { name, template, idleSeconds } of SCOPE_CHOICES) {
    expect(policy.resolve({ scope: template, variables: everything })).toEqual(policy.resolve({ scope: name, variables: everything }))
    expect(policy.resolve({ scope: template }).idleSeconds).toBe(idleSeconds)
  }
})

test('a variable that the template does not use changes nothing', () => {
  expect(hashOf('chat', everything)).toBe(hashOf('chat', { launcher_type: 'group', launcher_id: 123456 }))
})

test('values stay apart where the readable key does not', () => {
  const [one, other] = [
    { launcher_type: 'a_b', launcher_id: 'c' },
    { launcher_type: 'a', launcher_id: 'b_c' },
  ]
  expect(keyOf('chat', one)).toBe(keyOf('chat', other))
  expect(hashOf('chat', one)).not.toBe(hashOf('chat', other))
  expect(hashOf('app', { user_id: 'a:b', task_id: 'c' })).not.toBe(hashOf('app', { user_id: 'a', task_id: 'b:c' }))
  expect(hashOf('{sender_id}', { sender_id: 42 })).not.toBe(hashOf('message', { query_id: 42 }))
})

test('the number 5 is the text 5, and a missing variable is the text unknown', () => {
  expect(hashOf('message', { query_id: 5 })).toBe(hashOf('message', { query_id: '5' }))
  expect(hashOf('message', { query_id: '05' })).not.toBe(hashOf('message', { query_id: 5 }))
  expect(hashOf('message')).toBe(hashOf('message', { query_id: 'unknown' }))
  expect(hashOf('app', { task_id: 't' })).toBe(hashOf('app', { task_id: 't', user_id: 'anonymous' }))
})

test('global is a constant that no caller changes', () => {
  expect(hashOf('global', { global: 'mine' })).toBe(hashOf('global'))
})

test('what every object inherits is no variable', () => {
  expect(keyOf('{constructor}-{toString}', {})).toBe('unknown-unknown')
})

test('a key that a caller names meets no scope, and is found again by the same text', () => {
  const named = policy.resolveKey('group_123456')
  expect(named).toMatchObject({ scope: null, key: 'group_123456', idleSeconds: 300, forced: false })
  expect(named.keyHash).not.toBe(hashOf('chat', everything))
  expect(policy.resolveKey('{{x}}').keyHash).not.toBe(hashOf('{{x}}'))
  expect(policy.resolveKey('global').keyHash).not.toBe(hashOf('global'))
  expect(named.keyHash).toBe(explicitKey('group_123456').keyHash)
})

test('the stored form of the hashes stays what it is', () => {
  expect(hashOf('chat', { launcher_type: 'group', launcher_id: 123456 })).toBe(
    'e9c578ab1d703f4aefed5e49c3e36d859e70276208249a471087682e302e2632',
  )
  expect(explicitKey('group_123456').keyHash).toBe('56a35a4d302b5512a762616f323a3e6fc7e1f23937c43f876b90b3f465d4caa6')
})

test('a forced scope is taken whatever is asked for, even what cannot be read', () => {
  const forced = scopePolicy({ forcedScope: '{global}', defaultScope: 'user' })
  const expected = { ...policy.resolve({ scope: 'global' }), forced: true }
  expect(forced.resolve({ scope: 'user', variables: everything })).toEqual(expected)
  expect(forced.resolve({ variables: { global: 'mine' } })).toEqual(expected)
  expect(forced.resolve({ scope: '{broken' })).toEqual(expected)
  expect(forced.resolveKey('my own')).toEqual(expected)
})

test('a forced scope uses the variables of the request, and its own idle time', () => {
  const forced = scopePolicy({ forcedScope: 'desktop' })
  expect(forced.resolve({ scope: 'global', variables: everything })).toMatchObject({
    scope: 'desktop',
    key: 'desktop:u1:t1',
    idleSeconds: 900,
    forced: true,
  })
})

test('where a forced scope needs variables, a key of its own does not get a caller around it', () => {
  expect(() => scopePolicy({ forcedScope: 'chat' }).resolveKey('mine')).toThrow(
    expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining("forces the scope 'chat'") }),
  )
})

test.each(['', '  ', 'chta', '{a'])('the scope %j in the configuration stops the server before its first request', (text) => {
  const refused = expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(`'${text}'`) })
  expect(() => scopePolicy({ defaultScope: text })).toThrow(refused)
  expect(() => scopePolicy({ forcedScope: text })).toThrow(refused)
})

test('a key that is blank or too long is refused', () => {
  const refused = (request: ScopeRequest) => {
    try {
      return policy.resolve(request).key
    } catch (error) {
      return isHoldfastError(error, 'invalid_request') ? error.message : error
    }
  }
  expect(refused({ scope: '{a}', variables: { a: ' ' } })).toBe("the scope '{a}' gives an empty key")
  expect(refused({ scope: '{a}{a}{a}{a}', variables: { a: 'x'.repeat(256) } })).toBe('x'.repeat(1024))
  expect(refused({ scope: '{a}{a}{a}{a}.', variables: { a: 'x'.repeat(256) } })).toContain('gives a key of 1025 characters')
})
