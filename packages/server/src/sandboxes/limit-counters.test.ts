/** Counters of both cgroup versions, read from files as the kernel writes them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCounterReader, readLimitCounters } from './limit-counters.ts'

let top = ''
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'holdfast-counters-'))
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

function cgroup(name: string, files: Readonly<Record<string, string>>): string {
  const directory = join(top, name)
  mkdirSync(directory, { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text)
  return directory
}

test('version 1 has them in a directory per controller', () => {
  const memory = cgroup('memory', { 'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n' })
  const pids = cgroup('pids', { 'pids.events': 'max 7\n' })
  expect(readLimitCounters([memory, pids])).toEqual({ oomKills: 2, refusedForks: 7 })
})

test('version 2 has them in one directory', () => {
  const events = 'low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n'
  expect(readLimitCounters([cgroup('all', { 'memory.events': events, 'pids.events': 'max 3\n' })])).toEqual({
    oomKills: 1,
    refusedForks: 3,
  })
})

test('a cgroup without the files, or one that is gone, counts nothing', () => {
  expect(readLimitCounters([cgroup('empty', {}), join(top, 'gone')])).toEqual({ oomKills: 0, refusedForks: 0 })
})

test('a new sandbox begins at zero, and one that was found again at what it has', async () => {
  const found = Promise.resolve([cgroup('all', { 'memory.events': 'oom_kill 4\n' })])
  const fresh = createCounterReader(() => found, true)
  const attached = createCounterReader(() => found, false)
  expect([fresh.recent(), attached.recent()]).toEqual([{ oomKills: 0, refusedForks: 0 }, null])
  expect([await fresh.latest(), attached.recent()]).toEqual([
    { oomKills: 4, refusedForks: 0 },
    { oomKills: 4, refusedForks: 0 },
  ])
})

test('where there are no counters nothing is known of a sandbox that was found again', async () => {
  const attached = createCounterReader(() => Promise.reject(new Error('no engine')), false)
  expect(await attached.latest()).toBeNull()
})

test('a command that fails before the cgroups are found is still counted', async () => {
  const finding = Promise.withResolvers<readonly string[]>()
  const fresh = createCounterReader(() => finding.promise, true)
  const latest = fresh.latest()
  finding.resolve([cgroup('late', { 'pids.events': 'max 2\n' })])
  expect(await latest).toEqual({ oomKills: 0, refusedForks: 2 })
})
