/** What the launcher mounts in a container, and what stays the engine's. */
import { expect, test } from 'vitest'
import { exchangedOwners } from '../owner-map.ts'
import { containerMounts } from './container-mounts.ts'

const WORKSPACE = { source: '/shared/one', target: '/workspace', mode: 'rw' } as const
const SKILLS = { source: '/skills', target: '/workspace/.skills', mode: 'ro' } as const
const TOOLS = { source: '/tools', target: '/opt/tools', mode: 'ro' } as const
const IMAGE = { directories: ['/engine/b', '/engine/a'], changes: '/state/changes' }

test('an engine mounts everything alone where no owner is mapped and the root is read-only', () => {
  expect(containerMounts([WORKSPACE, SKILLS, TOOLS], 5000, null)).toEqual([])
  expect(containerMounts([{ ...WORKSPACE, owner: 5000 }], 5000, null)).toEqual([])
})

test('a shared directory is mounted with its owner mapped, and so is what lies in it, which it would hide', () => {
  expect(containerMounts([{ ...WORKSPACE, owner: 0 }, SKILLS, TOOLS], 5000, null)).toEqual([
    ...['directory', '/shared/one', 'rw', exchangedOwners(0, 5000), '/workspace'],
    ...['directory', '/skills', 'ro', '', '/workspace/.skills'],
  ])
})

test('a writable root comes first, and what lies below its places is mounted again', () => {
  expect(containerMounts([WORKSPACE, TOOLS], 5000, IMAGE)).toEqual([
    ...['image', '/engine/b:/engine/a', '/state/changes', exchangedOwners(0, 5000), '/usr /opt /var'],
    ...['directory', '/tools', 'ro', '', '/opt/tools'],
  ])
})
