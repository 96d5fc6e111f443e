/** What the trial says is what this machine does. */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packingProblem } from './packing-trial.ts'

function launcherThatSays(report: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'holdfast-trial-')), 'launcher')
  writeFileSync(path, `#!/bin/sh\ntest "$1" = try-hiding && echo '${report}'\n`)
  chmodSync(path, 0o755)
  return path
}

test('a server that is not root has no second uid, and nothing is tried', async () => {
  expect(await packingProblem('/nowhere', undefined, false)).toContain('start the server as root')
})

test('a kernel that refuses is quoted', async () => {
  const launcher = launcherThatSays('{"ok":false,"stage":"hide processes","reason":"Operation not permitted"}')
  expect(await packingProblem(launcher, undefined, true)).toMatch(/all capabilities.*Operation not permitted/)
})

test('one that does it is no problem', async () => {
  expect(await packingProblem(launcherThatSays('{"ok":true,"pid":1,"starttime":1}'), undefined, true)).toBeNull()
})
