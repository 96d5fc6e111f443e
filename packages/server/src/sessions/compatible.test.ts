/** A live session against a new wish. */
import { expect, test } from 'vitest'
import { checkCompatible } from './compatible.ts'

const spec = {
  image: 'a',
  network: 'off',
  rootfs: 'read-only',
  mounts: [],
  limits: { cpus: 1, memoryBytes: 2 ** 29, pids: null, tmpBytes: 2 ** 26, openFiles: 1024 },
} as const

test('what is not named, or named alike, is compatible', () => {
  expect(() => checkCompatible({}, spec)).not.toThrow()
  expect(() => checkCompatible({ image: 'a', network: 'off', limits: { cpus: 1, pids: null } }, spec)).not.toThrow()
})

test('every field that differs is named with both values', () => {
  const wish = { image: 'b', network: 'on', limits: { cpus: null, memory_bytes: 2 ** 30 } } as const
  expect(() => checkCompatible(wish, spec)).toThrow(
    'the session is live with other values of image (b, but the session has a), network (on, but the session has off), limits.cpus (null, but the session has 1), limits.memory_bytes (1073741824, but the session has 536870912)',
  )
})
