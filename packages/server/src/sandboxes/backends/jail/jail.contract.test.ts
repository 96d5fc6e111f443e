/** What only jails promise: a network of their own, and mounts that no sandbox can turn elsewhere. */
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest } from '../../../../../../test/environment/backends.ts'
import { bubblewrapBackend } from '../bubblewrap/bubblewrap-backend.ts'
import { subjectOf } from '../../contract/contracts.ts'
import { openLaboratory, type Laboratory } from '../../contract/laboratory.ts'
import { nsjailBackend } from '../nsjail/nsjail-backend.ts'
import type { Inside } from '../../../guest/inside.ts'
import { isAlive } from './process-identity.ts'
import { parseProcesses, sandboxPaths } from './state-directory.ts'

const OPENERS = { bubblewrap: bubblewrapBackend, nsjail: nsjailBackend }
const found = (await backendsUnderTest()).flatMap((candidate) =>
  candidate.kind === 'bubblewrap' || candidate.kind === 'nsjail'
    ? [{ candidate, open: OPENERS[candidate.kind], kind: candidate.kind }]
    : [],
)

async function shell(inside: Inside, script: string): Promise<{ readonly exitCode: number | null; readonly output: string }> {
  const execution = await inside.exec({ argv: ['sh', '-c', script], env: { PATH: '/usr/bin:/bin' }, cwd: '/' })
  let output = ''
  const { exitCode } = await execution.drain((chunk) => void (output += chunk.bytes.toString()))
  return { exitCode, output }
}

describe.each(found)('$kind', ({ candidate, open }) => {
  if (candidate.skipReason !== null) {
    test.skip(`keeps what only jails promise (skipped: ${candidate.skipReason})`)
    return
  }
  let laboratory: Laboratory
  beforeAll(async () => {
    laboratory = await openLaboratory(subjectOf(candidate, (needs) => open(needs)))
  })
  afterAll(async () => {
    expect(await laboratory.close()).toEqual([])
  })

  test('with the network on there is an interface of its own, and the host loopback is not behind it', async ({ skip }) => {
    if (!laboratory.capabilities.networkOn) return skip(laboratory.capabilities.reasons['networkOn'])
    let visitors = 0
    const server = createServer(() => (visitors += 1)).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    const { inside } = await laboratory.create({ network: 'on' })
    expect((await shell(inside, 'cat /proc/net/route')).output).toMatch(/^tap0\s+00000000/m)
    for (const host of ['127.0.0.1', '10.0.2.2']) {
      const attempt = await shell(inside, `timeout 2 bash -c 'exec 3<>/dev/tcp/${host}/${address.port}'`)
      expect(attempt.exitCode, host).not.toBe(0)
    }
    expect(visitors).toBe(0)
    server.close()
  })

  test('the network helper ends with the sandbox it serves', async ({ skip }) => {
    if (!laboratory.capabilities.networkOn) return skip(laboratory.capabilities.reasons['networkOn'])
    const { name, inside } = await laboratory.create({ network: 'on' })
    const record = parseProcesses(readFileSync(join(sandboxPaths(laboratory.needs.stateDir, name).directory, 'processes'), 'utf8'))
    const init = record.find(({ role }) => role === 'init')
    const helper = record.find(({ role }) => role === 'network')
    if (init === undefined || helper === undefined) throw new Error('the record is incomplete')
    expect(isAlive(helper)).toBe(true)
    process.kill(init.pid, 'SIGKILL')
    await inside.closed
    await expect.poll(() => isAlive(helper)).toBe(false)
  })

  test('a link planted where a mount point belongs is refused and not followed', async () => {
    const workspace = laboratory.hostDirectory('workspace')
    const outside = laboratory.hostDirectory('outside')
    const skill = laboratory.hostDirectory('skill')
    symlinkSync(outside, join(workspace, '.skills'))
    const attempt = laboratory.create({
      mounts: [
        { source: workspace, target: '/workspace', mode: 'rw' },
        { source: skill, target: '/workspace/.skills/x', mode: 'ro' },
      ],
    })
    await expect(attempt).rejects.toMatchObject({ code: 'mount_refused', message: expect.stringContaining('symbolic link') })
    expect(readdirSync(outside)).toEqual([])
  })

  test.runIf(process.getuid?.() === 0)(
    'a file system mounted below a read-only mount is read-only too (only root can mount one to try)',
    async () => {
      // Outside the laboratory, which takes every process that sees a mount of its own for one of a sandbox.
      const shared = mkdtempSync(join(tmpdir(), 'holdfast-shared-'))
      const below = join(shared, 'below')
      chmodSync(shared, 0o755)
      mkdirSync(below)
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'holdfast-test', below])
      try {
        const { inside } = await laboratory.create({ mounts: [{ source: shared, target: '/data', mode: 'ro' }] })
        expect((await shell(inside, 'touch /data/below/file 2>&1')).output).toContain('Read-only file system')
      } finally {
        execFileSync('umount', [below])
        rmSync(shared, { recursive: true })
      }
    },
  )
})
