/** What survives the server is whole, its own, and found by name. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import {
  createStateDirectory,
  listNames,
  parseProcesses,
  readState,
  removeStateDirectory,
  sandboxPaths,
  sweepUnfinished,
} from './state-directory.ts'

const NAME = 'sbx_0123456789abcdef'
const RECORD = { version: 1, kind: 'bubblewrap', serverId: 'srv', cgroups: ['/sys/fs/cgroup/pids/holdfast-srv/x'] } as const
const record = { ...RECORD, cgroups: [...RECORD.cgroups] }
let stateDir = ''
beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'holdfast-state-'))
  await sweepUnfinished(stateDir, Date.now())
})

test('what was recorded is read back', async () => {
  await createStateDirectory(stateDir, NAME, record)
  writeFileSync(join(sandboxPaths(stateDir, NAME).directory, 'processes'), 'monitor 10 20\ninit 11 21\n')
  expect(await readState(stateDir, NAME)).toEqual({
    record,
    processes: [
      { role: 'monitor', pid: 10, starttime: 20 },
      { role: 'init', pid: 11, starttime: 21 },
    ],
  })
  expect(await listNames(stateDir)).toEqual([NAME])
})

test('at no moment of its removal is a name there without its record', async () => {
  await createStateDirectory(stateDir, NAME, record)
  const { directory } = sandboxPaths(stateDir, NAME)
  for (let file = 0; file < 3_000; file++) writeFileSync(join(directory, 'run', String(file)), '')
  const ended = new AbortController()
  const removal = removeStateDirectory(stateDir, NAME).finally(() => ended.abort())
  while (!ended.signal.aborted) {
    const isRecorded = existsSync(join(directory, 'sandbox.json'))
    expect(isRecorded || !existsSync(directory)).toBe(true)
    await setImmediate()
  }
  await removal
  expect(readdirSync(join(stateDir, 'sandboxes'))).toEqual([])
})

test('a name in use is refused and its record kept', async () => {
  await createStateDirectory(stateDir, NAME, record)
  await expect(createStateDirectory(stateDir, NAME, { ...record, serverId: 'other' })).rejects.toMatchObject({ code: 'invalid_request' })
  expect((await readState(stateDir, NAME))?.record.serverId).toBe('srv')
  expect(readdirSync(join(stateDir, 'sandboxes'))).toEqual([NAME])
})

test.each(['', '..', 'sbx_', 'sbx_0123456789abcde', 'sbx_0123456789ABCDEF', 'sbx_0123456789abcdef/..', '../sbx_0123456789abcde'])(
  "'%s' is not a name",
  (name) => {
    expect(() => sandboxPaths(stateDir, name)).toThrow('is not sbx_ and 16 of 0-9a-z')
  },
)

test('a record of another program, or none, is no sandbox', async () => {
  mkdirSync(sandboxPaths(stateDir, NAME).directory)
  expect(await readState(stateDir, NAME)).toBeNull()
  for (const text of ['', '{', '{"version":2}', JSON.stringify({ ...record, cgroups: ['relative'] })]) {
    writeFileSync(join(sandboxPaths(stateDir, NAME).directory, 'sandbox.json'), text)
    expect(await readState(stateDir, NAME), text).toBeNull()
  }
})

test('half a line of the process record counts for nothing', () => {
  expect(parseProcesses('init 12 34\nnetwork 13 3')).toEqual([{ role: 'init', pid: 12, starttime: 34 }])
  expect(parseProcesses('init -1 34\ninit 0 1\ninit 1 0\n')).toEqual([])
})

test('removing twice is fine, and takes an unfinished one along', async () => {
  await createStateDirectory(stateDir, NAME, record)
  mkdirSync(sandboxPaths(stateDir, NAME).making)
  await removeStateDirectory(stateDir, NAME)
  await removeStateDirectory(stateDir, NAME)
  expect(readdirSync(join(stateDir, 'sandboxes'))).toEqual([])
})

test('only old unfinished directories are swept', async () => {
  const { making } = sandboxPaths(stateDir, NAME)
  const young = sandboxPaths(stateDir, 'sbx_0123456789abcdeg').making
  mkdirSync(making)
  mkdirSync(young)
  utimesSync(making, 1000, 1000)
  await sweepUnfinished(stateDir, Date.now())
  expect(readdirSync(join(stateDir, 'sandboxes'))).toEqual(['.making-sbx_0123456789abcdeg'])
})
