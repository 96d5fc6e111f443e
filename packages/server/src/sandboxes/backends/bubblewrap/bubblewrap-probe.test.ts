/** The probe names what is missing and how to get it. */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { missingFlags, probeBubblewrap } from './bubblewrap-probe.ts'

const HELP =
  '    --as-pid-1   a\n    --bind-fd FD DEST  b\n    --cap-add CAP\n    --info-fd FD \n    --json-status-fd FD \n    --perms OCTAL \n    --size BYTES \n    --userns-block-fd FD x\n'

function directoryWith(name: string, script: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-probe-'))
  writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(directory, name), 0o755)
  // As root the trial runs as another user, who must reach it.
  chmodSync(directory, 0o755)
  return directory
}

const NEEDS = { serverId: 'test', stateDir: '/nowhere', guestPath: '/bin/sh', launcherPath: '/bin/sh' }

test('a help text with every flag is new enough', () => {
  expect(missingFlags(HELP)).toEqual([])
  expect(missingFlags(HELP.replace('--bind-fd FD DEST  b', '--bind SRC'))).toEqual(['--bind-fd'])
})

test('without bwrap the fix is to install it', async () => {
  const { probe, jail } = await probeBubblewrap(NEEDS, { searchPath: '/nowhere' })
  expect(probe).toMatchObject({
    available: false,
    reason: 'bwrap is not installed',
    fix: expect.stringContaining('apt-get install bubblewrap'),
  })
  expect(jail).toBeNull()
})

test('an old bwrap is too old by name of the flag', async () => {
  const searchPath = directoryWith('bwrap', 'echo "    --info-fd FD"')
  expect((await probeBubblewrap(NEEDS, { searchPath })).probe).toMatchObject({
    available: false,
    reason: expect.stringContaining('it lacks --as-pid-1, --bind-fd'),
  })
})

test('a bwrap that may not work says why', async () => {
  const searchPath = directoryWith(
    'bwrap',
    `[ "$1" = --help ] && { printf '%s' '${HELP}'; exit; }; echo "bwrap: No permissions to create new namespace" >&2; exit 1`,
  )
  expect((await probeBubblewrap(NEEDS, { searchPath })).probe).toMatchObject({
    available: false,
    reason: expect.stringContaining('No permissions to create new namespace'),
  })
})

test('without the launcher or the guest there is nothing to start', async () => {
  const searchPath = directoryWith('bwrap', 'true')
  const probe = (await probeBubblewrap({ ...NEEDS, launcherPath: '/nowhere/launcher' }, { searchPath })).probe
  expect(probe).toMatchObject({ available: false, reason: '/nowhere/launcher is missing or not executable' })
})
