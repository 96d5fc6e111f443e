/** Which conversation is meant, from the address and the headers of a client. */
import { fieldProblems, problemSentence } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { addressed, conversationsOf, ConversationQuery } from './conversation.ts'

const meant = (query: string, headers: Readonly<Record<string, string>> = {}) => {
  const { searchParams } = new URL(addressed(new Request(`http://localhost/mcp${query}`, { headers })).url)
  const parsed = ConversationQuery.safeParse(Object.fromEntries(searchParams))
  const conversation = parsed.success ? parsed.data : problemSentence(fieldProblems(parsed.error))
  expect(directly(query, headers)).toEqual(conversation)
  return conversation
}

/** From what a connection gives, where the names of headers are in lower case. */
function directly(query: string, headers: Readonly<Record<string, string>>): unknown {
  try {
    return conversationsOf()(
      query.slice(1),
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    )
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

test('headers and the address say the same', () => {
  const said = { scope: 'chat', variables: { launcher_type: 'group', launcher_id: '7' }, pipeline: 'support' }
  expect(meant('?scope=chat&var.launcher_type=group&var.launcher_id=7&pipeline=support')).toEqual(said)
  const headers = {
    'Holdfast-Scope': 'chat',
    'Holdfast-Var-Launcher-Type': 'group',
    'Holdfast-Var-launcher_id': '7',
    'Holdfast-Pipeline': 'support',
  }
  expect(meant('', headers)).toEqual(said)
  expect(meant('?scope=chat&var.launcher_type=group', { 'holdfast-var-launcher-id': '7', 'holdfast-pipeline': 'support' })).toEqual(said)
})

test('a session is named by its key, or by its id', () => {
  expect(meant('?session=demo')).toEqual({ session: 'demo' })
  expect(meant('', { 'holdfast-session': 'ses_0123456789abcdef' })).toEqual({ session_id: 'ses_0123456789abcdef' })
})

test('who names nothing means the usual one; a pipeline has a rule of its own', () => {
  expect(meant('')).toEqual({ session: 'mcp' })
  expect(meant('?profile=small')).toEqual({ session: 'mcp', profile: 'small' })
  expect(meant('?pipeline=support')).toEqual({ pipeline: 'support' })
})

test.each([
  ['?session=a&scope=chat', 'session: give either session, or scope with its variables'],
  ['?session=a&var.b=c', 'session: give either session, or scope with its variables'],
  ['?session=', 'session: must not be empty'],
  ['?var.=x', /variables/],
  ['?var.global=mine', /global/],
  ['?variables=x', /variables/],
  ['?session_id=ses_0123456789abcdef&scope=chat', /session/],
  ['?mounts=/etc', 'mounts: is not a known field'],
])('%s is refused', (query, problem) => {
  expect(meant(query)).toEqual(expect.stringMatching(problem))
})

test('headers that are not about a conversation stay where they are', () => {
  const request = new Request('http://localhost/mcp?session=a', { headers: { 'x-holdfast-tenant': 'tnt_1' } })
  expect(addressed(request)).toBe(request)
})

test('what is said in the same words is read once, and in others anew', () => {
  const conversationOf = conversationsOf()
  const one = conversationOf('session=a', { 'holdfast-profile': 'small' })
  expect(conversationOf('session=a', { 'holdfast-profile': 'small', accept: 'text/html' })).toBe(one)
  expect(conversationOf('session=a', {})).toEqual({ session: 'a' })
  expect(conversationOf('session=a', { 'holdfast-profile': 'large' })).toEqual({ session: 'a', profile: 'large' })
  expect(() => conversationOf('session=a', { 'holdfast-session': 'b' })).toThrow('session: is given more than once')
})
