/** The launcher's word is the only one that counts as started. */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launch, launcherArguments, type LaunchPlan } from './launch.ts'

const PLAN: LaunchPlan = {
  launcherPath: '/nowhere/holdfast-launcher',
  stateDirectory: '/state/sbx',
  cgroups: [
    {
      directory: '/c/sbx',
      shownAt: '/sys/fs/cgroup',
      files: [
        { file: 'pids.max', value: '9', optional: false },
        { file: 'memory.swap.max', value: '0', optional: true },
      ],
    },
  ],
  openFiles: 256,
  networkProgram: '/usr/bin/slirp4netns',
  subordinate: [],
  stagingFlags: ['--source-ro', '/usr'],
  jailFlags: ['--init-from', 'info-fd'],
  argv: ['/usr/bin/bwrap', '--help'],
}

function launcherSaying(script: string): LaunchPlan {
  const launcherPath = join(mkdtempSync(join(tmpdir(), 'holdfast-launch-')), 'launcher')
  writeFileSync(launcherPath, `#!/bin/sh\n${script}\n`)
  chmodSync(launcherPath, 0o755)
  return { ...PLAN, launcherPath }
}

test('a plan is one command line', () => {
  expect(launcherArguments(PLAN, 77)).toEqual([
    ...['--parent', '77', '--state-directory', '/state/sbx', '--open-files', '256'],
    ...['--cgroup', '/c/sbx', '--limit', 'pids.max', '9', '--optional-limit', 'memory.swap.max', '0'],
    ...['--source-ro', '/usr', '--init-from', 'info-fd', '--terminals', '64', '--network-program', '/usr/bin/slirp4netns'],
    ...['--', '/usr/bin/bwrap', '--help'],
  ])
})

test('a report of success is success', async () => {
  await expect(launch(launcherSaying(`echo '{"ok":true,"pid":1,"starttime":2}'`))).resolves.toBeUndefined()
})

test.each([
  ['backend_unavailable', 'the sandbox did not start (guest): no', `echo '{"ok":false,"stage":"guest","reason":"no"}'; exit 1`],
  ['mount_refused', 'the sandbox did not start (mount): swapped', `echo '{"ok":false,"stage":"mount","reason":"swapped"}'; exit 1`],
  ['backend_unavailable', 'ended without a report (exit code 0)', ''],
  ['backend_unavailable', 'ended without a report (SIGSEGV)', 'kill -SEGV $$'],
  ['backend_unavailable', 'ended without a report', 'echo nonsense'],
])('%s: %s', async (code, message, script) => {
  await expect(launch(launcherSaying(script))).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
})

test('a launcher that cannot be run is a reason, not a crash', async () => {
  await expect(launch(PLAN)).rejects.toMatchObject({
    code: 'backend_unavailable',
    message: expect.stringContaining('/nowhere/holdfast-launcher'),
  })
})

test('an abort ends the launcher', async () => {
  const abort = new AbortController()
  const launched = launch(launcherSaying('exec sleep 1000'), abort.signal)
  abort.abort(new Error('enough'))
  await expect(launched).rejects.toThrow('enough')
})
