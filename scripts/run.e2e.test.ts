/** The entry of a clone: from any directory, and without what only a server needs. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const RUN = join(import.meta.dirname, 'run.mjs')

test('a verb that asks a server works in any directory, without a compiler, apt-get and bubblewrap', () => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-client-'))
  try {
    const env = { PATH: '/nowhere', HOME: home, HOLDFAST_URL: 'http://127.0.0.1:1' }
    const { status, stderr } = spawnSync(process.execPath, [RUN, 'holdfast', 'sessions', 'ls'], { cwd: home, env, encoding: 'utf8' })
    expect(stderr).toContain('holdfast: cannot reach the server at http://127.0.0.1:1')
    expect(stderr).not.toMatch(/compiler|apt-get|bubblewrap/)
    expect(status).toBe(1)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}, 120_000)
