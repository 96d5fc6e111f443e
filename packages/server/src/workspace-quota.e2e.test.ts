/** The bound on a workspace, over real sandboxes: writers are stopped while they write, and nobody else is. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ExecResult } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../test/environment/backends.ts'
import { settingsOf } from './ingress/rest/contract/backend-settings.ts'
import { openRealServer } from './ingress/rest/contract/real-server.ts'
import type { RealServer } from './ingress/rest/contract/real-server.ts'

const MEBIBYTE = 2 ** 20
const BOUND = 20 * MEBIBYTE
const ENTRIES = 2_000
const KINDS: readonly string[] = ['bubblewrap', 'docker']

for (const under of (await backendsUnderTest()).filter(({ kind }) => KINDS.includes(kind))) {
  describe.skipIf(under.skipReason !== null)(`the bound of a workspace on ${under.kind}${because(under)}`, () => {
    let real: RealServer
    let shared: string
    beforeAll(async () => {
      shared = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-shared-')))
      real = await openRealServer({
        ...settingsOf(under),
        ...{ HOLDFAST_LIMITS_WORKSPACE: '20m', HOLDFAST_LIMITS_WORKSPACE_ENTRIES: `${ENTRIES}`, HOLDFAST_MOUNTS_ALLOWED_ROOTS: shared },
      })
    })
    afterAll(async () => {
      await real.close()
      rmSync(shared, { recursive: true, force: true })
    })

    const run = async (session: string, command: string, key = real.adminKey) => {
      const body = JSON.stringify({ session_id: session, command, timeout_ms: 60_000 })
      const response = await real.request('/v1/exec', { method: 'POST', body, key })
      return { status: response.status, answer: await response.json() }
    }
    const ended = async (session: string, command: string, key?: string) => ExecResult.parse((await run(session, command, key)).answer)
    const eventsOf = async (session: string) => {
      const page = (await (await real.request(`/v1/sessions/${session}/events?after=0`)).json()) as {
        items: { type: string; data: object }[]
      }
      return page.items.filter(({ type }) => type === 'workspace.over_quota').map(({ data }) => data)
    }

    test('stops a writer while it writes, keeps the files, and says so; its neighbour runs on', async () => {
      const [full, neighbour] = await Promise.all([real.session('full'), real.session('neighbour')])
      const beside = ended(neighbour, 'until [ -e done ]; do sleep 0.05; done; echo unharmed')
      // At a pace of its own: how far it gets must not depend on the disk.
      const result = await ended(full, 'for i in $(seq 100); do dd if=/dev/zero bs=1M count=4 >> big; sleep 0.1; done; echo through')
      expect(result).toMatchObject({ status: 'workspace_full', exit_code: null, signal: 'SIGKILL', stdout: '' })
      expect(result.cause).toMatchObject({ code: 'workspace_full', limit: BOUND, setting: 'limits.workspace_bytes' })
      expect(result.session.notice).toMatch(/^This command was stopped: the workspace holds more/)
      await real.sh(neighbour, 'touch done')
      expect(await beside).toMatchObject({ status: 'completed', stdout: 'unharmed\n' })

      const next = await ended(full, 'ls')
      expect(next).toMatchObject({ status: 'completed', stdout: expect.stringMatching(/^big\n/) as string })
      expect(next.session.notice).toMatch(/^The workspace is over its bound: it holds \d+ bytes of 20971520 that are allowed/)
      expect(await eventsOf(full)).toMatchObject([{ limit_bytes: BOUND, limit_entries: ENTRIES, bytes: expect.any(Number) as number }])

      expect(await ended(full, 'sleep 3; rm big; echo removed')).toMatchObject({ status: 'completed', stdout: 'removed\n' })
      const free = await ended(full, 'dd if=/dev/zero of=small bs=1M count=10 && sleep 3 && echo kept')
      expect(free).toMatchObject({ status: 'completed', stdout: 'kept\n' })
    })

    test('counts what is written to a writable root, and what is removed there and still open', async ({ skip }) => {
      if (process.getuid?.() !== 0) skip('only a root server has writable roots')
      const session = await real.session('root', { rootfs: 'writable' })
      const write = 'for i in $(seq 100); do dd if=/dev/zero bs=1M count=4 >&3; sleep 0.1; done; echo through'
      for (const place of ['/usr', '/opt', '/var']) {
        expect(await ended(session, `exec 3>${place}/big; ${write}`), place).toMatchObject({ status: 'workspace_full', stdout: '' })
        expect(await ended(session, `rm ${place}/big && echo removed`)).toMatchObject({ status: 'completed', stdout: 'removed\n' })
      }
      expect(await ended(session, `exec 3>/usr/gone; rm /usr/gone; ${write}`)).toMatchObject({ status: 'workspace_full', stdout: '' })
    })

    test('counts what is on the disk: a sparse file is small, a file with two names is one', async () => {
      const session = await real.session('sparse')
      const command = 'truncate -s 1G sparse && dd if=/dev/zero of=one bs=1M count=15 && ln one two && ln one three && sleep 5 && echo fine'
      expect(await ended(session, command)).toMatchObject({ status: 'completed', stdout: 'fine\n' })
    })

    test('counts files that are removed and still open, at most twice the bound, and leaves nothing of them', async () => {
      const session = await real.session('removed')
      // Appended: the writer is killed at any moment, and a file that is written again is empty for a moment.
      const write = 'dd if=/dev/zero bs=1M count=2 >&3; echo $((i * 2)) >> held; sleep 0.1'
      const command = `exec 3>gone; rm gone; for i in $(seq 200); do ${write}; done; echo through`
      expect(await ended(session, command)).toMatchObject({ status: 'workspace_full', stdout: '' })
      const held = await ended(session, 'tail -n 1 held')
      expect(held).toMatchObject({ status: 'completed', stdout: expect.stringMatching(/^\d+/) as string })
      expect(held.session).not.toHaveProperty('notice')
      expect(Number(held.stdout) * MEBIBYTE).toBeLessThanOrEqual(2 * BOUND)
      expect(await eventsOf(session)).toHaveLength(1)
    })

    test('counts files that are removed and lie in messages nobody has received, at most twice the bound', async ({ skip }) => {
      const session = await real.session('in-flight')
      if ((await ended(session, 'command -v python3')).exit_code !== 0) skip('the image has no python3')
      const send = `import os, socket, time
one, other = socket.socketpair()
held = os.open('held', os.O_CREAT | os.O_WRONLY | os.O_APPEND)
for i in range(1, 200):
    fd = os.open('gone', os.O_CREAT | os.O_WRONLY); os.write(fd, bytes(2 * 2**20)); os.unlink('gone')
    socket.send_fds(one, [b'x'], [fd]); os.close(fd); os.write(held, f'{2 * i}\\n'.encode()); time.sleep(0.1)
print('through')`
      expect(await ended(session, `python3 -c "${send}"`)).toMatchObject({ status: 'workspace_full', stdout: '' })
      const held = await ended(session, 'tail -n 1 held')
      expect(held).toMatchObject({ status: 'completed', stdout: expect.stringMatching(/^\d+/) as string })
      expect(held.session).not.toHaveProperty('notice')
      expect(Number(held.stdout) * MEBIBYTE).toBeLessThanOrEqual(2 * BOUND)
      expect(await eventsOf(session)).toHaveLength(1)
    })

    test('gives no space that is not written: what asks for it is told so, and what writes instead is stopped', async () => {
      const session = await real.session('reserving')
      const refused = await ended(session, 'fallocate -l 5G reserved; echo $?; stat -c %b reserved')
      expect(refused).toMatchObject({ stdout: '1\n0\n', stderr: expect.stringContaining('not supported') as string })
      const command = 'fallocate --posix --length 1M small && fallocate --punch-hole --length 512K small && stat -c "%s %b" small'
      expect((await ended(session, command)).stdout).toBe('1048576 1024\n')
      expect(await ended(session, 'fallocate --posix --length 4G large; sleep 50')).toMatchObject({ status: 'workspace_full' })
      const unbounded = await real.session('unbounded', { limits: { workspace_bytes: null } })
      expect((await ended(unbounded, 'fallocate -l 1M reserved && stat -c %s reserved')).stdout).toBe('1048576\n')
    })

    test('bounds the number of entries, and the depth that can be measured', async () => {
      const many = await real.session('many')
      expect(await ended(many, 'i=0; while :; do : > f$i; i=$((i+1)); done')).toMatchObject({ status: 'workspace_full' })
      expect((await ended(many, 'true')).session.notice).toMatch(/entries of 2000 that are allowed/)
      const deep = await real.session('deep')
      const command = 'i=0; while [ $i -lt 1200 ]; do mkdir d; cd -P d; i=$((i+1)); done; sleep 50'
      expect(await ended(deep, command)).toMatchObject({ status: 'workspace_full' })
      expect((await ended(deep, 'rm -rf d && echo removed')).stdout).toBe('removed\n')
    })

    test('finds what was left in the background, when no command runs any more', async () => {
      const session = await real.session('background')
      await real.sh(session, 'setsid sh -c "while :; do dd if=/dev/zero bs=1M count=8 >> more; sleep 0.2; done" > /dev/null 2>&1 &')
      await expect.poll(() => eventsOf(session)).toHaveLength(1)
      const [before, after] = [await real.sh(session, 'wc -c < more'), await real.sh(session, 'sleep 1; wc -c < more')]
      expect(after).toBe(before)
    })

    test('whoever never gets below it runs no more commands until files are removed through the API', async () => {
      const session = await real.session('stubborn')
      for (let time = 1; time <= 3; time += 1)
        expect(await ended(session, `dd if=/dev/zero of=big${time} bs=1M count=400; sleep 50`)).toMatchObject({ status: 'workspace_full' })
      expect(await run(session, 'true')).toMatchObject({ status: 507, answer: { code: 'no_space' } })
      for (const name of ['big1', 'big2', 'big3'])
        expect((await real.request(`/v1/sessions/${session}/files?path=${name}`, { method: 'DELETE' })).status).toBe(204)
      expect(await run(session, 'true')).toMatchObject({ status: 200 })
    })

    test('takes no file from outside that would not fit, and no archive that unpacks to more', async () => {
      const session = await real.session('uploads')
      const put = (path: string, bytes: number) =>
        real.request(`/v1/sessions/${session}/files?path=${path}`, { method: 'PUT', body: Buffer.alloc(bytes) })
      expect((await put('fits', 15 * MEBIBYTE)).status).toBeLessThan(300)
      const refused = await put('more', 15 * MEBIBYTE)
      expect({ status: refused.status, answer: await refused.json() }).toMatchObject({ status: 507, answer: { code: 'no_space' } })
      expect((await put('little', 1)).status).toBeLessThan(300)
      const archive = gzipSync(tarOf('zeros', Buffer.alloc(400 * MEBIBYTE)), { level: 1 })
      const packed = await real.request(`/v1/sessions/${session}/files/archive?path=unpacked`, { method: 'PUT', body: archive })
      expect({ status: packed.status, answer: await packed.json() }).toMatchObject({ status: 507, answer: { code: 'no_space' } })
      expect(await real.sh(session, 'ls -A')).toMatch(/^(\.skills\n)?fits\nlittle\n$/)
    })

    test('a packed session is stopped alone: its neighbour in the same sandbox runs on', async ({ skip }) => {
      const { capabilities } = real.server.chosen
      if (!capabilities.packing) skip(capabilities.reasons.packing ?? 'it cannot pack')
      const key = await real.keyOf({ subject: 'pam' }, await real.tenantWith({ packing: { profiles: ['small'] } }))
      const [one, two] = [await real.session('one', { pack: 'small' }, key), await real.session('two', { pack: 'small' }, key)]
      const beside = ended(two, 'exec 3>held; until [ -e done ]; do sleep 0.05; done; echo unharmed', key)
      // The home is the session's too; and what it holds open is nobody else's.
      const command = 'cd; exec 3>gone; rm gone; dd if=/dev/zero bs=1M count=60 >&3; sleep 50'
      expect(await ended(one, command, key)).toMatchObject({ status: 'workspace_full' })
      await real.sh(two, 'touch done', key)
      expect(await beside).toMatchObject({ status: 'completed', stdout: 'unharmed\n' })
    })

    test('a directory of the host that a session works in is bounded too', async () => {
      const source = join(shared, 'project')
      mkdirSync(source)
      chmodSync(source, 0o777)
      const session = await real.session('host', { workspace: { source, mode: 'rw' } })
      expect(await ended(session, 'dd if=/dev/zero of=big bs=1M count=60; sleep 50')).toMatchObject({ status: 'workspace_full' })
    })

    test('others are answered while a workspace is filled and measured', async () => {
      const session = await real.session('large', { limits: { workspace_bytes: 2 ** 30 } })
      const work = ended(session, 'mkdir d; cd d; i=0; while [ $i -lt 1900 ]; do : > $i; i=$((i+1)); done; sleep 2; echo done')
      for (let time = 0; time < 20; time += 1) expect((await real.request('/v1/profiles')).status).toBe(200)
      expect(await work).toMatchObject({ stdout: 'done\n' })
    })
  })
}

/** One file as a tar archive. */
function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        0', 148)
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, content, Buffer.alloc(1024)])
}
