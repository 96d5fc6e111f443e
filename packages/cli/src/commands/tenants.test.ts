/** A tenant's policy as people read it. */
import { expect, test } from 'vitest'
import { settingWords } from './tenants.ts'

test('settings are words with the names of the API, not JSON', () => {
  expect(settingWords({ admin_exec: true, packing: { profiles: ['a', 'b'] }, ceilings: { idle_seconds: 900 } })).toBe(
    'admin_exec: true, packing.profiles: a b, ceilings.idle_seconds: 900',
  )
  expect(settingWords({})).toBe('none')
})
