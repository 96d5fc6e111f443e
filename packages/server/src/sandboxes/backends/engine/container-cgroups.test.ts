/** The cgroups of a container are its own, whatever the driver calls them, and no other process's. */
import { expect, test } from 'vitest'
import { containerCgroupPaths } from './container-cgroups.ts'

const VERSION_1 =
  '33 25 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n34 25 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n'
const VERSION_2 = '33 25 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n'

test('memory and pids on version 1', () => {
  expect(containerCgroupPaths(VERSION_1, '4:memory:/docker/abc\n3:pids:/docker/abc\n2:cpu:/docker/abc\n', 'abc')).toEqual([
    '/sys/fs/cgroup/memory/docker/abc',
    '/sys/fs/cgroup/pids/docker/abc',
  ])
  expect(containerCgroupPaths(VERSION_1, '4:memory:/system.slice/docker-abc.scope\n', 'abc')).toEqual([
    '/sys/fs/cgroup/memory/system.slice/docker-abc.scope',
  ])
})

test('one directory on version 2', () => {
  expect(containerCgroupPaths(VERSION_2, '0::/system.slice/docker-abc.scope\n', 'abc')).toEqual([
    '/sys/fs/cgroup/system.slice/docker-abc.scope',
  ])
})

test('none of a process in another cgroup', () => {
  expect(containerCgroupPaths(VERSION_1, '4:memory:/\n3:pids:/user.slice\n', 'abc')).toEqual([])
  expect(containerCgroupPaths(VERSION_1, '4:memory:/docker/abc\n', '')).toEqual([])
})
