/** Host users follow from ids, and never are somebody else's. */
import { expect, test } from 'vitest'
import { checkUidRange, DEFAULT_UID_RANGE, hostUsersOf } from './host-users.ts'

const WHOLE_HOST = '         0          0 4294967295\n'

function hostWith(files: Readonly<Record<string, string>>) {
  return (path: string) => ({ '/proc/self/uid_map': WHOLE_HOST, '/proc/self/gid_map': WHOLE_HOST, ...files })[path] ?? ''
}

test('an id always has the same two users, both in the range, and another id has others', () => {
  const { first, count } = DEFAULT_UID_RANGE
  const users = hostUsersOf(DEFAULT_UID_RANGE, 'ses_0000000000000001')
  expect(hostUsersOf(DEFAULT_UID_RANGE, 'ses_0000000000000001')).toEqual(users)
  expect(users.guest).toBe(users.commands + 1)
  const all = Array.from({ length: 1000 }, (_, index) => hostUsersOf(DEFAULT_UID_RANGE, `ses_${index}`))
  expect(new Set(all.map(({ commands }) => commands)).size).toBe(1000)
  for (const { commands, guest } of all) {
    expect(commands).toBeGreaterThanOrEqual(first)
    expect(guest).toBeLessThan(first + count)
  }
})

test('the default range is free on a host with the usual users', () => {
  const files = {
    '/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n',
    '/etc/subuid': 'ann:100000:65536\nbob:600000000:65536\n',
  }
  expect(checkUidRange(DEFAULT_UID_RANGE, hostWith(files))).toBeNull()
})

test.each([
  ['subordinate ids', { '/etc/subuid': '# comment\nann:2010000100:65536\n' }, 'ann in /etc/subuid'],
  ['subordinate groups', { '/etc/subgid': 'ann:2009999999:2\n' }, 'ann in /etc/subgid'],
  ['a user', { '/etc/passwd': 'deep:x:2089999999:100::/:/bin/false\n' }, 'deep in /etc/passwd'],
])('a range that holds %s is refused', (_, files, owner) => {
  expect(() => checkUidRange(DEFAULT_UID_RANGE, hostWith(files))).toThrow(`holds ids of ${owner}; choose another range, or none`)
})

test('a range that holds uids of packed sessions is refused', () => {
  expect(() => checkUidRange({ first: 2_099_999_999, count: 2 }, hostWith({}))).toThrow('holds ids of packed sessions')
})

test('a server in a user namespace without these ids has a reason not to use them', () => {
  const reason = checkUidRange(DEFAULT_UID_RANGE, hostWith({ '/proc/self/gid_map': '         0     100000      65536\n' }))
  expect(reason).toContain('does not have these ids')
})
