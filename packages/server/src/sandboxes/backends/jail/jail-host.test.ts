/** What this host lacks is a capability that is false, with the reason. */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { findNetwork, findProgram, jailCapabilities } from './jail-host.ts'

const PLACE = { version: 2, parent: '/c' } as const

test('a program is found in the order of the path, if it can be executed and the directory is absolute', () => {
  const [first, second] = [mkdtempSync(join(tmpdir(), 'holdfast-path-')), mkdtempSync(join(tmpdir(), 'holdfast-path-'))]
  writeFileSync(join(first, 'tool'), '')
  writeFileSync(join(second, 'tool'), '')
  chmodSync(join(second, 'tool'), 0o755)
  expect(findProgram('tool', `${first}:${second}`)).toBe(join(second, 'tool'))
  expect(findProgram('tool', first)).toBeNull()
  expect(findProgram('tool', relative(process.cwd(), second))).toBeNull()
})

test('without slirp4netns the network stays off, and the fix is named', () => {
  expect(findNetwork(true, '/nowhere')).toEqual({ reason: expect.stringContaining('apt-get install slirp4netns') })
})

test('every capability that is missing has its reason', () => {
  const { reasons, limits, ...rest } = jailCapabilities({
    isRoot: false,
    cgroups: { memory: PLACE, pids: { reason: 'no pids' }, cpu: PLACE },
    network: { reason: 'no helper' },
    packingProblem: 'no packing',
    writableRootProblem: 'no overlay',
    rootUserProblem: 'no overlay',
  })
  expect(limits).toEqual({ cpus: true, memory: true, pids: false })
  expect(rest).toEqual({ networkOn: false, images: false, writableRoot: false, rootUser: false, severalUsers: false, packing: false })
  expect(Object.keys(reasons).toSorted()).toEqual(['images', 'networkOn', 'packing', 'pids', 'rootUser', 'severalUsers', 'writableRoot'])
})

test('root on a host with everything lacks only images', () => {
  const { reasons } = jailCapabilities({
    isRoot: true,
    cgroups: { memory: PLACE, pids: PLACE, cpu: PLACE },
    network: { program: '/usr/bin/slirp4netns' },
    packingProblem: null,
    writableRootProblem: null,
    rootUserProblem: null,
  })
  expect(Object.keys(reasons).toSorted()).toEqual(['images'])
})
