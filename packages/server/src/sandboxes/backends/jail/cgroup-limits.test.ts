/** Wished limits become the files of the version at hand; nothing unwished is written. */
import { expect, test } from 'vitest'
import type { CgroupLayout } from './cgroup-layout.ts'
import { sandboxCgroups } from './cgroup-limits.ts'

const NO_LIMITS = { cpus: null, memoryBytes: null, pids: null, tmpBytes: 1, openFiles: 1 }
const ALL = { cpus: 0.5, memoryBytes: 1_000_000, pids: 10, tmpBytes: 1, openFiles: 1 }
const VERSION_1: CgroupLayout = {
  memory: { version: 1, parent: '/c/memory/holdfast' },
  pids: { version: 1, parent: '/c/pids/holdfast' },
  cpu: { version: 1, parent: '/c/cpu/holdfast' },
}
const PLACE_2 = { version: 2, parent: '/c/holdfast' } as const
const VERSION_2: CgroupLayout = { memory: PLACE_2, pids: PLACE_2, cpu: PLACE_2 }

function written(layout: CgroupLayout, limits: typeof ALL | typeof NO_LIMITS, helpers = 0): readonly string[] {
  return sandboxCgroups(layout, 'sbx', limits, helpers).flatMap(({ directory, shownAt, files }) => [
    `${directory} at ${shownAt}`,
    ...files.map(({ file, value, optional }) => `${file}${optional ? '?' : ''}=${value}`),
  ])
}

test('version 1 has a directory per controller', () => {
  expect(written(VERSION_1, ALL)).toEqual([
    '/c/memory/holdfast/sbx at /sys/fs/cgroup/memory',
    ...[
      'memory.limit_in_bytes=1000000',
      'memory.memsw.limit_in_bytes?=1000000',
      'memory.swappiness?=0',
      'memory.kmem.tcp.limit_in_bytes?=250000',
    ],
    ...['/c/pids/holdfast/sbx at /sys/fs/cgroup/pids', 'pids.max=10'],
    ...['/c/cpu/holdfast/sbx at /sys/fs/cgroup/cpu', 'cpu.cfs_period_us=100000', 'cpu.cfs_quota_us=50000'],
  ])
})

test('version 2 has one directory with all of them', () => {
  expect(written(VERSION_2, ALL)).toEqual([
    '/c/holdfast/sbx at /sys/fs/cgroup',
    'memory.max=1000000',
    'memory.swap.max?=0',
    'pids.max=10',
    'cpu.max=50000 100000',
  ])
})

test('our own helper processes are not counted against the sandbox', () => {
  expect(written(VERSION_2, ALL, 3)).toContain('pids.max=13')
})

test('without limits one cgroup is made, so that every process can be found', () => {
  expect(written(VERSION_1, NO_LIMITS)).toEqual(['/c/memory/holdfast/sbx at /sys/fs/cgroup/memory'])
  expect(written(VERSION_2, NO_LIMITS)).toEqual(['/c/holdfast/sbx at /sys/fs/cgroup'])
})

test('where there are no cgroups none is made', () => {
  const nowhere = { reason: 'none' }
  expect(written({ memory: nowhere, pids: nowhere, cpu: nowhere }, NO_LIMITS)).toEqual([])
})

test('one that is to be frozen has a cgroup for that beside its limits, which programs do not see', () => {
  const freezer = { version: 2, parent: '/c/unified/holdfast' } as const
  const frozen = (layout: CgroupLayout) => sandboxCgroups(layout, 'sbx', { ...NO_LIMITS, pids: 10 }, 0, true)
  expect(frozen({ ...VERSION_1, freezer })).toMatchObject([
    { directory: '/c/pids/holdfast/sbx' },
    { directory: '/c/unified/holdfast/sbx', shownAt: null, files: [] },
  ])
  expect(frozen({ ...VERSION_2, freezer: PLACE_2 })).toMatchObject([{ directory: '/c/holdfast/sbx', shownAt: '/sys/fs/cgroup' }])
  expect(frozen(VERSION_1)).toHaveLength(1)
})
