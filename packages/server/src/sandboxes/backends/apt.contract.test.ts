/**
 * `apt-get install` with `user: root`: on bubblewrap from the package source that this machine itself uses; on podman, whose test network leads
 * nowhere, from a package in a directory.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backendsUnderTest } from '../../../../../test/environment/backends.ts'
import { subjectOf } from '../contract/contracts.ts'
import { openLaboratory } from '../contract/laboratory.ts'
import { run } from '../contract/outcome.ts'
import { isServerRoot } from '../sandbox-user.ts'
import { bubblewrapBackend } from './bubblewrap/bubblewrap-backend.ts'
import { podmanBackend } from './podman/podman-backend.ts'

const PACKAGE = 'hello'
const MEBIBYTE = 1024 * 1024
const LIMITS = { memoryBytes: 512 * MEBIBYTE, pids: 128, tmpBytes: 64 * MEBIBYTE, openFiles: 1024 }

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

test.for(['bubblewrap', 'podman'] as const)(
  'apt-get install works as root of a %s sandbox, and the host does not have the package afterwards',
  async (kind, { skip }) => {
    const found = (await backendsUnderTest()).find((candidate) => candidate.kind === kind)
    if (found === undefined || found.skipReason !== null) return skip(found?.skipReason ?? `no ${kind} here`)
    const reason = obstacle()
    if (reason !== null) return skip(reason)
    const hadIt = existsSync(`/usr/bin/${PACKAGE}`)
    const isJail = kind === 'bubblewrap'
    const subject = subjectOf(found, (needs, { podmanSocket: socket }) =>
      isJail ? bubblewrapBackend(needs) : podmanBackend(needs, socket === undefined ? {} : { socket }),
    )
    const laboratory = await openLaboratory(subject)
    try {
      const { capabilities } = laboratory
      if (!capabilities.rootUser || (isJail && !capabilities.networkOn))
        return skip(capabilities.reasons.rootUser ?? capabilities.reasons.networkOn ?? 'no network or no root inside here')
      const packages = laboratory.hostDirectory('packages')
      // As root: the user that apt would become may not enter the directory.
      if (!isJail) execFileSync('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', PACKAGE], { cwd: packages, stdio: 'ignore' })
      const named = isJail ? PACKAGE : join('/mnt/packages', readdirSync(packages)[0] ?? '')
      const { inside } = await laboratory.create({
        ...{ user: 'root', rootfs: 'writable', limits: LIMITS },
        ...(isJail ? { network: 'on' } : { mounts: [{ source: packages, target: '/mnt/packages', mode: 'ro' }] }),
      })
      const installed = await run(inside, ['apt-get', 'install', '-y', '--no-install-recommends', '--reinstall', named])
      expect(installed, installed.stderr).toMatchObject({ exitCode: 0 })
      expect((await run(inside, [PACKAGE])).stdout).toContain('Hello, world!')
      expect((await run(inside, ['dpkg', '-s', PACKAGE])).stdout).toContain('Status: install ok installed')
      expect(existsSync(`/usr/bin/${PACKAGE}`)).toBe(hadIt)
    } finally {
      expect(await laboratory.close(), 'left behind').toEqual([])
    }
  },
)
