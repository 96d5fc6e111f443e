/** An open session against a new wish. */
import { expect, test } from 'vitest'
import { checkCompatible } from './compatible.ts'

const session = {
  wish: { image: 'a', network: 'off', limits: { cpus: 1, memory_bytes: 2 ** 29, pids: null, tmp_bytes: 2 ** 26, open_files: 1024 } },
  pack: null,
  ownerGroup: 'lab',
} as const

test('what is not named, or named alike, is compatible', () => {
  expect(() => checkCompatible({ wish: {} }, session)).not.toThrow()
  expect(() => checkCompatible({ wish: { image: 'a', network: 'off', limits: { cpus: 1, pids: null } } }, session)).not.toThrow()
  expect(() => checkCompatible({ wish: {}, pack: 'team', ownerGroup: 'lab' }, { ...session, pack: 'team' })).not.toThrow()
})

test('every field that differs is named with both values', () => {
  const wish = { image: 'b', network: 'on', limits: { cpus: null, memory_bytes: 2 ** 30 } } as const
  expect(() => checkCompatible({ wish, pack: 'team' }, session)).toThrow(
    'the session exists with other values of image (b, but the session has a), network (on, but the session has off), limits.cpus (none, but the session has 1), limits.memory_bytes (1073741824, but the session has 536870912), pack (team, but the session has none)',
  )
})

test('a session of a group is not given as one of nobody’s', () => {
  expect(() => checkCompatible({ wish: {}, ownerGroup: null }, session)).toThrow('owner_group (none, but the session has lab)')
})
