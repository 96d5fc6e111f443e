/** The TCP limit belongs to the container's own cgroup, and to no other. */
import { expect, test } from 'vitest'
import { memoryCgroupPath } from './tcp-limit.ts'

const VERSION_1 =
  '33 25 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n34 25 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n'
const VERSION_2 = '33 25 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n'

test('by the cgroup of the first process, whatever the driver calls it', () => {
  expect(memoryCgroupPath(VERSION_1, '4:memory:/docker/abc\n3:pids:/docker/abc\n', 'abc')).toBe('/sys/fs/cgroup/memory/docker/abc')
  expect(memoryCgroupPath(VERSION_1, '4:memory:/system.slice/docker-abc.scope\n', 'abc')).toBe(
    '/sys/fs/cgroup/memory/system.slice/docker-abc.scope',
  )
})

test('not for a process of another cgroup, nor where version 2 counts everything together', () => {
  expect(memoryCgroupPath(VERSION_1, '4:memory:/\n', 'abc')).toBeNull()
  expect(memoryCgroupPath(VERSION_1, '4:memory:/user.slice\n', 'abc')).toBeNull()
  expect(memoryCgroupPath(VERSION_1, '4:memory:/docker/abc\n', '')).toBeNull()
  expect(memoryCgroupPath(VERSION_2, '0::/docker/abc\n', 'abc')).toBeNull()
})
