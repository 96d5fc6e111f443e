/** Keys on the wire: the least power when nothing is said, and names that are what they look like. */
import { expect, test } from 'vitest'
import { CreateKeyBody, Groups, Subject } from './keys.ts'

test('a key of which nothing more is said is a user’s, a member’s, of no group, and does not expire', () => {
  expect(CreateKeyBody.parse({ name: 'laptop', subject: 'alice' })).toEqual({
    ...{ name: 'laptop', subject: 'alice', kind: 'user', role: 'member', groups: [] },
  })
})

test.each([
  { colour: 'red' },
  { role: 'root' },
  { kind: 'robot' },
  { expires_in_seconds: 0 },
  { expires_in_seconds: 1.5 },
  { subject: '' },
])('a key with %j is refused', (wrong) =>
  expect(CreateKeyBody.safeParse({ name: 'laptop', subject: 'alice', ...wrong }).success).toBe(false),
)

test.each(['alice', 'Алиса', '爱丽丝', 'a b', 'user@example.org', ' alice', '👩‍🚀'])('%j may be a subject, as it is written', (name) => {
  expect(Subject.parse(name)).toBe(name)
})

test.each(['', 'holdfast:mcp', 'holdfast:', 'a\0b', 'a\nb', 'a\n', 'a\u0085', 'x'.repeat(256), '\ud800'])(
  '%j may not be a subject',
  (name) => {
    expect(Subject.safeParse(name).success).toBe(false)
  },
)

test('nobody is in more groups than a query can ask for', () => {
  const groups = Array.from({ length: 65 }, (_, index) => `g${index}`)
  expect(Groups.safeParse(groups).success).toBe(false)
  expect(Groups.safeParse(groups.slice(1)).success).toBe(true)
})
