/** `apt-get install` with `user: root` on bubblewrap, from the package source that this machine itself uses. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { backendsUnderTest } from '../../../../../../test/environment/backends.ts'
import { subjectOf } from '../../contract/contracts.ts'
import { openLaboratory } from '../../contract/laboratory.ts'
import { run } from '../../contract/outcome.ts'
import { isServerRoot } from '../../sandbox-user.ts'
import { bubblewrapBackend } from './bubblewrap-backend.ts'

const PACKAGE = 'hello'
const MEBIBYTE = 1024 * 1024

/** Why it cannot be tried here, or `null`. */
function obstacle(): string | null {
  if (!isServerRoot()) return 'only a root server gives user: root'
  if (!existsSync('/usr/bin/apt-get')) return 'this machine has no apt-get'
  try {
    const address = execFileSync('apt-get', ['download', '--print-uris', PACKAGE], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 60_000,
    })
    execFileSync('curl', ['-sfI', '-m', '60', /'(\S+)'/.exec(address)?.[1] ?? 'http://127.0.0.1:9/'], { stdio: 'ignore' })
    return null
  } catch {
    return `no package source with ${PACKAGE} is reachable from this machine`
  }
}

test('apt-get install works as root of a bubblewrap sandbox, and the host does not have the package afterwards', async ({ skip }) => {
  const found = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
  if (found === undefined || found.skipReason !== null) return skip(found?.skipReason ?? 'no bubblewrap here')
  const reason = obstacle()
  if (reason !== null) return skip(reason)
  const hadIt = existsSync(`/usr/bin/${PACKAGE}`)
  const laboratory = await openLaboratory(subjectOf(found, (needs) => bubblewrapBackend(needs)))
  try {
    if (!laboratory.capabilities.networkOn || !laboratory.capabilities.rootUser)
      return skip(
        laboratory.capabilities.reasons.networkOn ?? laboratory.capabilities.reasons.rootUser ?? 'no network or no root inside here',
      )
    const limits = { memoryBytes: 512 * MEBIBYTE, pids: 128, tmpBytes: 64 * MEBIBYTE, openFiles: 1024 }
    const { inside } = await laboratory.create({ user: 'root', rootfs: 'writable', network: 'on', limits })
    const installed = await run(inside, ['apt-get', 'install', '-y', '--no-install-recommends', '--reinstall', PACKAGE])
    expect(installed, installed.stderr).toMatchObject({ exitCode: 0 })
    expect((await run(inside, [PACKAGE])).stdout).toContain('Hello, world!')
    expect((await run(inside, ['dpkg', '-s', PACKAGE])).stdout).toContain('Status: install ok installed')
    expect(existsSync(`/usr/bin/${PACKAGE}`)).toBe(hadIt)
  } finally {
    expect(await laboratory.close(), 'left behind').toEqual([])
  }
})
