/** What each configured kind of conversation gets. */
import { expect, test } from 'vitest'
import { createPipelines } from './pipelines.ts'
import type { PipelinesNeeds } from './pipelines.ts'
import { createProfiles } from './profiles.ts'

const profiles = createProfiles({ usual: null, image: null, custom: [] })
const pipelinesOf = (settings: PipelinesNeeds['settings'], more: Partial<PipelinesNeeds> = {}) =>
  createPipelines({ settings, profiles, ...more })
const support = { scope: '{sender_id}', profile: 'network_basic', skills: ['pdf', 'mail'] }

test('a pipeline has its scope, its profile and its skills', () => {
  expect(pipelinesOf({ support }).resolve('support')).toEqual(support)
  expect(pipelinesOf({ support }).all()).toEqual([{ name: 'support', ...support }])
})

test('what is not configured falls back: per chat, the usual profile, no skills', () => {
  const bare = { scope: 'chat', profile: undefined, skills: [] }
  expect(pipelinesOf({ bare: {} }).resolve('bare')).toEqual(bare)
  expect(pipelinesOf({}).resolve(undefined)).toEqual(bare)
  const usual = createProfiles({ usual: 'default', image: null, custom: [] })
  expect(pipelinesOf({ bare: {} }, { profiles: usual, defaultScope: 'user' }).resolve('bare')).toEqual({
    ...{ scope: 'user', profile: 'default', skills: [] },
  })
})

test('a forced scope wins', () => {
  expect(pipelinesOf({ support }, { forcedScope: 'global' }).resolve('support')).toEqual({ ...support, scope: 'global' })
  expect(pipelinesOf({ support }, { forcedScope: 'global' }).resolve(undefined).scope).toBe('global')
})

test('one that is not configured is refused with those that are', () => {
  expect(() => pipelinesOf({ support, sales: {} }).resolve('toString')).toThrow(
    expect.objectContaining({
      code: 'pipeline_unknown',
      message: "pipeline: there is no pipeline 'toString'; configured are support, sales",
    }),
  )
  expect(() => pipelinesOf({}).resolve('support')).toThrow('configured are none')
})

test.each([
  [{ scope: '{broken' }, "pipelines.bad.scope: the scope '{broken' is wrong at character 1"],
  [{ scope: 'nothing' }, "pipelines.bad.scope: the scope 'nothing' cannot be used"],
  [{ profile: 'fast' }, "pipelines.bad.profile: profile: there is no profile 'fast'"],
])('%j is refused at start, naming the field', (bad, message) => {
  expect(() => pipelinesOf({ support, bad })).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
  )
})
