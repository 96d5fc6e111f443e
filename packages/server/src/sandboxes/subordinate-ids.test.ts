/** Which subordinate ids an account has to give, as its host's files say. */
import { expect, test } from 'vitest'
import { delegatedTo } from './subordinate-ids.ts'

const files = (subuid: string, subgid: string) => (path: string) => (path === '/etc/subuid' ? subuid : subgid)
const ALICE = { name: 'alice', uid: 1001 }

test('takes what the account has both as users and as groups, by its name or by its number', () => {
  const read = files('bob:100000:65536\nalice:200000:100\n1001:300000:1000\n', 'alice:200050:100\n1001:300000:2000\n')
  expect(delegatedTo(ALICE, read)).toEqual({
    all: [
      { first: 200_050, count: 50 },
      { first: 300_000, count: 1000 },
    ],
    largest: { first: 300_000, count: 1000 },
  })
})

test.each([
  ['there are none', '', '', '100000-165535'],
  ['only others have some', 'bob:100000:65536\n', 'bob:100000:65536\n', '165536-231071'],
  ['it has users and no groups', 'alice:100000:65536\n', '', '165536-231071'],
])('names the command that gives the account a free range where %s', (_, subuid, subgid, span) => {
  expect(delegatedTo(ALICE, files(subuid, subgid))).toEqual({
    problem: 'the account alice has no subordinate ids in /etc/subuid and /etc/subgid',
    fix: `run \`usermod --add-subuids ${span} --add-subgids ${span} alice\` as root, and start the server again`,
  })
})
