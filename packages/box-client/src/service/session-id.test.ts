/** The session of a message follows its pipeline's template, and a forced one wins. */
import { expect, test } from 'vitest'
import { sessionIdOf } from './session-id.ts'

const QUERY = { query_id: 42, launcher_type: 'group', launcher_id: 7, sender_id: 'ana', conversation_id: 'c1' }

const TEMPLATES = {
  '{global}': 'global',
  '{launcher_type}_{launcher_id}': 'group_7',
  '{launcher_type}_{launcher_id}_{sender_id}': 'group_7_ana',
  '{launcher_type}_{launcher_id}_{conversation_id}': 'group_7_c1',
  '{query_id}': '42',
  '{nobody}-{launcher_id}': 'unknown-7',
  '{constructor}{__proto__}': 'unknownunknown',
  'literal {{braces}} {launcher_id}': 'literal {braces} 7',
}

test.each(Object.entries(TEMPLATES))('%s', (template, id) => expect(sessionIdOf({ ...QUERY, template })).toBe(id))

test('is per chat without a template, and the forced one wins over the pipeline', () => {
  expect(sessionIdOf(QUERY)).toBe('group_7')
  expect(sessionIdOf({ ...QUERY, template: ' ' })).toBe('group_7')
  expect(sessionIdOf({ ...QUERY, template: '{query_id}' }, '{global}')).toBe('global')
})

test('what is not known falls back to what is', () => {
  expect(sessionIdOf({ query_id: 5 })).toBe('query_5')
  expect(sessionIdOf({ query_id: '', template: '{sender_id}' })).toBe('unknown')
  expect(sessionIdOf({ query_id: 5, launcher_id: 'g', template: '{sender_id}' })).toBe('g')
})

test('variables of the host are used, but nobody changes the constant', () => {
  const variables = { team: 'red', global: 'mine', launcher_id: 'other' }
  expect(sessionIdOf({ ...QUERY, variables, template: '{team}/{global}/{launcher_id}' })).toBe('red/global/other')
})
