/** Which changes of a profile loosen what it locks. */
import { expect, test } from 'vitest'
import { LOCKABLE_FIELDS } from '@holdfast/protocol'
import { loosenedFields } from './profile-loosening.ts'
import { DEFAULT } from './profiles.ts'
import type { Profile } from './profiles.ts'

const locked: Profile = { ...DEFAULT, workspaceMode: 'ro', workspaceBytes: 2 ** 30, locked: [...LOCKABLE_FIELDS] }

test.each([
  [{ network: 'on' }, ['network']],
  [{ rootfs: 'writable' }, ['rootfs']],
  [{ workspaceMode: 'rw' }, ['workspace.mode']],
  [{ workspaceMode: 'none' }, []],
  [{ image: 'other' }, ['image']],
  [{ cpus: 2 }, ['limits.cpus']],
  [{ cpus: null }, ['limits.cpus']],
  [{ cpus: 0.5 }, []],
  [{ memoryBytes: null }, ['limits.memory_bytes']],
  [{ pids: 4 }, []],
  [{ workspaceBytes: null }, ['limits.workspace_bytes']],
  [{ workspaceBytes: 2 ** 20 }, []],
  [{ locked: LOCKABLE_FIELDS.filter((field) => field !== 'image') }, ['image']],
  [{ timeoutMs: 1, maxTimeoutMs: 3_600_000 }, []],
] as const)('%j loosens %j', (change, fields) => {
  expect(loosenedFields(locked, { ...locked, ...change })).toEqual(fields)
})

test('to remove a profile loosens all that it locks, and nothing where nothing is locked', () => {
  expect(loosenedFields(locked, null)).toEqual(LOCKABLE_FIELDS)
  expect(loosenedFields(DEFAULT, null)).toEqual([])
  expect(loosenedFields(DEFAULT, { ...DEFAULT, network: 'on' })).toEqual([])
})
