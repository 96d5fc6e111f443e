/** What a scope request may contain, and what it may not. */
import { expect, test } from 'vitest'
import { fieldProblems, problemSentence } from './field-problems.ts'
import { MAXIMUM_VARIABLES, ScopeRequest, SessionKey } from './scopes.ts'

function problems(input: unknown, schema: typeof ScopeRequest | typeof SessionKey = ScopeRequest): string {
  const result = schema.safeParse(input)
  return result.success ? 'accepted' : problemSentence(fieldProblems(result.error))
}

test.each([
  {},
  { scope: 'chat' },
  { scope: '{team}/{sender_id}' },
  { variables: {} },
  { variables: { launcher_type: 'group', launcher_id: 123456, sender_id: '', 'my-own': 0.5 } },
  { variables: { launcher_id: Number.MAX_SAFE_INTEGER, global: 'global' } },
  { variables: { name: 'é 你好 👋', long: 'x'.repeat(256) } },
])('%j is accepted as it is', (request) => {
  expect(ScopeRequest.parse(request)).toEqual(request)
})

test.each([
  [{ scope: 'chta' }, 'scope: must be one of global, chat, user, conversation, message, app, desktop, or a template'],
  [{ scope: '' }, 'scope: must be one of'],
  [{ scope: 'Chat' }, 'scope: must be one of'],
  [{ scope: `{a}${'x'.repeat(254)}` }, 'scope: must be at most 256 characters'],
  [{ scope: '{a}\0' }, 'scope: must not contain control characters'],
  [{ scope: '{a}\ud800' }, 'broken Unicode'],
  [{ scope: 5 }, 'scope: must be a string'],
  [{ scopes: 'chat' }, 'scopes: is not a known field'],
  [{ variables: { a: null } }, 'variables.a: must be text of at most 256 characters'],
  [{ variables: { a: true } }, 'variables.a: must be text'],
  [{ variables: { a: 'x'.repeat(257) } }, 'variables.a: must be text of at most 256 characters'],
  [{ variables: { a: 'x\ny' } }, 'variables.a: must be text'],
  [{ variables: { a: '\udc00' } }, 'variables.a: must be text'],
  [{ variables: { a: Infinity } }, 'variables.a: must be text'],
  [{ variables: { a: Number.NaN } }, 'variables.a: must be text'],
  [{ variables: ['x'] }, 'variables: must be an object'],
  [{ variables: { a: -(2 ** 53) } }, 'variables.a: must be text'],
  [{ variables: { '': 'x' } }, 'a name must be at most 64 letters'],
  [{ variables: { '1a': 'x' } }, 'a name must be at most 64 letters'],
  [{ variables: { 'a b': 'x' } }, 'a name must be at most 64 letters'],
  [{ variables: { ['a'.repeat(65)]: 'x' } }, 'a name must be at most 64 letters'],
  [{ variables: { global: 'other' } }, 'variables.global: is the constant "global"'],
  [
    { variables: Object.fromEntries(Array.from({ length: MAXIMUM_VARIABLES + 1 }, (_, index) => [`v${index}`, 'x'])) },
    'variables: must be at most 64',
  ],
])('%j is refused', (request, why) => {
  expect(problems(request)).toContain(why)
})

test('a number that reading JSON has rounded is refused, since two chats could become one', () => {
  const [one, other] = ['{"variables":{"launcher_id":9007199254740993}}', '{"variables":{"launcher_id":9007199254740992}}']
  expect(JSON.parse(one)).toEqual(JSON.parse(other))
  expect(problems(JSON.parse(one))).toContain('send larger ones as text')
})

test('a name that every object inherits is never taken for a variable that was sent', () => {
  expect(ScopeRequest.parse({ variables: { constructor: 'x' } }).variables).toEqual({ constructor: 'x' })
  const parsed = ScopeRequest.safeParse(JSON.parse('{"variables":{"__proto__":"x","toString":"y"}}'))
  expect(parsed.success ? Object.getPrototypeOf(parsed.data.variables) : Object.prototype).toBe(Object.prototype)
})

test('a key that a caller names is any plain text that is not blank', () => {
  expect(problems('group_1: 你好', SessionKey)).toBe('accepted')
  expect(problems('x'.repeat(1024), SessionKey)).toBe('accepted')
  expect(problems('x'.repeat(1025), SessionKey)).toContain('at most 1024')
  expect(problems('', SessionKey)).toBe('must not be empty')
  expect(problems('  ', SessionKey)).toBe('must not be empty')
  expect(problems('a\0', SessionKey)).toContain('control characters')
  expect(problems('a\ud800', SessionKey)).toContain('broken Unicode')
})
