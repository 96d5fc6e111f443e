/**
 * Lifecycle, shape: what is inside is what the spec said, mounts, owners, environment and limits.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'vitest'
import { isServerRoot, sandboxUserOnHost } from '../../sandbox-user.ts'
import type { Laboratory } from '../laboratory.ts'
import { outcomeOf, run, shell } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { NotHere } from '../subject.ts'
import { processesOf } from '../traces.ts'

const MEBIBYTE = 1024 * 1024

/** What the control groups of the laboratory's sandboxes say, under any of these names. */
function settingsOf(laboratory: Laboratory, ...names: readonly string[]): readonly string[] {
  const directories = new Set(processesOf(basename(laboratory.directory)).flatMap(({ cgroups }) => cgroups))
  const files = [...directories].flatMap((directory) => names.map((name) => join(directory, name)))
  return files.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8').trim())
}

export const SHAPE: Proofs<Laboratory> = {
  'several mounts are shown where they were wished, nested ones too': async (laboratory) => {
    const workspace = laboratory.hostDirectory('workspace')
    const skill = laboratory.hostDirectory('skill')
    const extra = laboratory.hostDirectory('extra')
    mkdirSync(join(workspace, '.skills/weather'), { recursive: true })
    writeFileSync(join(skill, 'SKILL.md'), 'a skill')
    writeFileSync(join(extra, 'note'), 'a note')
    const { inside } = await laboratory.create({
      mounts: [
        { source: workspace, target: '/workspace', mode: 'rw' },
        { source: skill, target: '/workspace/.skills/weather', mode: 'ro' },
        { source: extra, target: '/mnt/extra', mode: 'ro' },
      ],
    })
    expect(await shell(inside, 'cat /workspace/.skills/weather/SKILL.md')).toBe('a skill')
    expect(await shell(inside, 'cat /mnt/extra/note')).toBe('a note')
    await inside.files.write('/workspace/made', 'inside')
    expect(readFileSync(join(workspace, 'made'), 'utf8')).toBe('inside')
    expect(await outcomeOf(() => inside.files.write('/workspace/.skills/weather/made', 'no'))).toBe('file_operation_failed')
    expect(await outcomeOf(() => inside.files.write('/mnt/extra/made', 'no'))).toBe('file_operation_failed')
  },

  'a nested mount point that did not exist is made, and the mount shown there': async (laboratory) => {
    const workspace = laboratory.hostDirectory('workspace')
    const skill = laboratory.hostDirectory('skill')
    writeFileSync(join(skill, 'SKILL.md'), 'a skill')
    const { inside } = await laboratory.create({
      mounts: [
        { source: workspace, target: '/workspace', mode: 'rw' },
        { source: skill, target: '/workspace/.skills/new', mode: 'ro' },
      ],
    })
    expect(await shell(inside, 'cat /workspace/.skills/new/SKILL.md')).toBe('a skill')
  },

  'a mount inside a mount of the workspace is shown, and its mount point is made there': async (laboratory) => {
    const [workspace, view, skill] = ['workspace', 'view', 'skill'].map((name) => laboratory.hostDirectory(name))
    if (workspace === undefined || view === undefined || skill === undefined) throw new Error('three directories were made')
    writeFileSync(join(skill, 'SKILL.md'), 'a skill')
    const { inside } = await laboratory.create({
      mounts: [
        { source: workspace, target: '/workspace', mode: 'rw' },
        { source: view, target: '/workspace/.skills', mode: 'rw' },
        { source: skill, target: '/workspace/.skills/plain', mode: 'ro' },
      ],
    })
    expect(await shell(inside, 'cat /workspace/.skills/plain/SKILL.md')).toBe('a skill')
    expect(await outcomeOf(() => inside.files.write('/workspace/.skills/plain/made', 'no'))).toBe('file_operation_failed')
  },

  'a mount below a workspace that is not itself a mount works': async (laboratory) => {
    const skill = laboratory.hostDirectory('skill')
    writeFileSync(join(skill, 'SKILL.md'), 'a skill')
    const { inside } = await laboratory.create({ mounts: [{ source: skill, target: '/workspace/.skills/one', mode: 'ro' }] })
    expect(await shell(inside, 'cat /workspace/.skills/one/SKILL.md; echo mine > /workspace/file; cat /workspace/file')).toBe('a skillmine')
  },

  'a single file can be mounted': async (laboratory) => {
    const directory = laboratory.hostDirectory('files')
    writeFileSync(join(directory, 'one'), 'one file')
    const { inside } = await laboratory.create({ mounts: [{ source: join(directory, 'one'), target: '/mnt/one', mode: 'ro' }] })
    expect(await shell(inside, 'cat /mnt/one')).toBe('one file')
  },

  'a path with spaces, colons, quotes and equal signs is mounted as it is': async (laboratory) => {
    const directory = laboratory.hostDirectory("a b:c'd=e")
    writeFileSync(join(directory, 'note'), 'odd')
    const { inside } = await laboratory.create({ mounts: [{ source: directory, target: "/mnt/o d'd=x", mode: 'ro' }] })
    expect(await run(inside, ['cat', "/mnt/o d'd=x/note"])).toMatchObject({ stdout: 'odd', exitCode: 0 })
  },

  'a path that reads like mount options is mounted as it is, or refused': async (laboratory) => {
    for (const name of ['a,readonly=false', 'a,destination=,b', 'a"b"', 'a\\b', 'a\nb', 'a%sb']) {
      const source = laboratory.hostDirectory(name)
      writeFileSync(join(source, 'note'), 'kept')
      const sandboxName = laboratory.newName()
      const spec = laboratory.spec({ mounts: [{ source, target: '/mnt/odd', mode: 'ro' }] })
      const created = await outcomeOf(() => laboratory.backend.create(sandboxName, spec))
      expect(['accepted', 'mount_refused'], JSON.stringify(name)).toContain(created)
      if (created === 'accepted') {
        const inside = await laboratory.enter(await laboratory.backend.attach(sandboxName))
        await outcomeOf(() => inside.files.write('/mnt/odd/note', 'changed'))
        expect(await shell(inside, 'cat /mnt/odd/note'), JSON.stringify(name)).toBe('kept')
      }
      await laboratory.backend.destroy(sandboxName)
    }
  },

  'files written inside belong to the sandbox user on the host': async (laboratory) => {
    const workspace = laboratory.hostDirectory('workspace')
    const { inside } = await laboratory.create({ mounts: [{ source: workspace, target: '/workspace', mode: 'rw' }] })
    await shell(inside, 'echo x > /workspace/by-command')
    await inside.files.write('/workspace/by-files', 'x')
    for (const name of ['by-command', 'by-files']) expect(statSync(join(workspace, name))).toMatchObject(sandboxUserOnHost())
  },

  'a shared directory of root is the sandbox user’s inside, and what is made there is root’s on the host': async (laboratory) => {
    const source = laboratory.hostDirectory('shared')
    if (!isServerRoot() || (await laboratory.backend.hostUsers?.mapsOwners?.(source)) !== true)
      throw new NotHere('this backend, server or file system cannot show files of one owner as those of another')
    chownSync(source, 0, 0)
    // As LangBot's container leaves them: nobody else may read them, and the outbox is made again between two commands.
    mkdirSync(join(source, 'inbox'), { mode: 0o700 })
    writeFileSync(join(source, 'inbox/attachment'), 'from the client', { mode: 0o600 })
    mkdirSync(join(source, 'outbox'), { mode: 0o755 })
    const { inside } = await laboratory.create({ mounts: [{ source, target: '/workspace', mode: 'rw', owner: 0 }] })
    const user = await shell(inside, 'id -u')
    expect(await shell(inside, 'cd /workspace; cat inbox/attachment; stat -c %u . inbox outbox | sort -u')).toBe(`from the client${user}`)
    await shell(inside, 'cd /workspace; echo changed >> inbox/attachment; echo one > outbox/one; mkdir made')
    rmSync(join(source, 'outbox'), { recursive: true })
    mkdirSync(join(source, 'outbox'), { mode: 0o755 })
    await shell(inside, 'echo two > /workspace/outbox/two')
    for (const name of ['inbox/attachment', 'outbox/two', 'made'])
      expect(statSync(join(source, name)), name).toMatchObject({ uid: 0, gid: 0 })
    expect(readFileSync(join(source, 'inbox/attachment'), 'utf8')).toBe('from the clientchanged\n')
    // A set-user-ID file there would be root's for every account of the host that can reach it.
    for (const attempt of ['chmod u+s made/x', 'chmod g+s made', 'install -m 4755 /bin/true made/z'])
      expect(await shell(inside, `cd /workspace; touch made/x; { ${attempt}; } 2>&1 || echo refused`), attempt).toMatch(
        /not permitted[^]*refused$/,
      )
    expect(await shell(inside, 'find /workspace -perm /6000')).toBe('')
    expect(
      await shell(
        inside,
        'cd /workspace; chmod 1755 made; chmod +x made/x; install -m 755 /bin/true made/w; stat -c %a made made/x made/w',
      ),
    ).toBe('1755\n755\n755')
  },

  'home, /tmp and the workspace belong to the user and can be written': async (laboratory) => {
    const { inside } = await laboratory.create()
    for (const place of ['/home/user', '/workspace', '/tmp'])
      expect(await shell(inside, `cd ${place} && echo x > file && cat file`)).toBe('x')
    expect(await shell(inside, 'cd && pwd')).toBe('/home/user')
  },

  'files go in and out through the guest, as the sandbox user': async (laboratory) => {
    const { inside } = await laboratory.create()
    const content = randomBytes(3_000_000)
    await inside.files.write('/workspace/deep/file', content, { parents: true, mode: 0o640 })
    expect((await buffer(await inside.files.read('/workspace/deep/file'))).equals(content)).toBe(true)
    const entry = await inside.files.stat('/workspace/deep/file')
    expect(entry).toMatchObject({ size: content.length, mode: 0o640, uid: Number(await shell(inside, 'id -u')) })
    expect((await inside.files.glob('**/fi?e', { root: '/workspace' })).items.map(({ path }) => path)).toEqual(['/workspace/deep/file'])
    expect(await outcomeOf(() => inside.files.write('/usr/file', 'x'))).toBe('file_operation_failed')
  },

  'a terminal belongs to the sandbox user, has a size and can be opened again by name': async (laboratory) => {
    const { inside } = await laboratory.create()
    const terminal = await inside.pty({
      argv: ['sh', '-c', 'stty size < "$(tty)"; test -O "$(tty)" && echo mine'],
      size: { cols: 90, rows: 30 },
    })
    let said = ''
    await terminal.drain(({ bytes }) => void (said += bytes.toString()))
    expect(said.replaceAll('\r', '')).toBe('30 90\nmine\n')
  },

  'the figures of the sandbox are its own': async (laboratory) => {
    const { inside } = await laboratory.create()
    await shell(inside, 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done')
    const stats = await inside.stats()
    expect(stats.pids).toBeLessThan(10)
    expect(stats.cpuUsec).toBeGreaterThan(1_000)
    expect(stats.memoryBytes).toBeGreaterThan(100_000)
    expect(stats.diskTotalBytes).toBeGreaterThan(0)
  },

  'a command has the environment it was given and nothing of the server': async (laboratory) => {
    process.env['HOLDFAST_CONTRACT_SECRET'] = 'of the server'
    const { inside } = await laboratory.create()
    const { stdout } = await run(inside, { argv: ['env'], env: { GIVEN: 'yes' } })
    expect(stdout).toContain('GIVEN=yes\n')
    expect(stdout).not.toContain('of the server')
    delete process.env['HOLDFAST_CONTRACT_SECRET']
  },

  'the limits of the spec hold inside': async (laboratory) => {
    const { inside } = await laboratory.create({ limits: { openFiles: 200, tmpBytes: 8 * MEBIBYTE } })
    expect(await shell(inside, 'ulimit -Hn')).toBe('200')
    expect(await shell(inside, 'ulimit -Hc')).toBe('0')
    for (const place of ['/tmp', '/home/user', '/workspace']) {
      expect(await shell(inside, `df -k ${place} | tail -1 | awk '{print $2}'`), place).toBe(String(8 * 1024))
    }
  },

  'the kernel was told the limits of the spec': async (laboratory) => {
    const { limits, reasons } = laboratory.capabilities
    if (!limits.memory || !limits.pids) throw new NotHere(reasons['memory'] ?? reasons['pids'] ?? 'no limits here')
    const memoryBytes = 96 * MEBIBYTE
    const { inside } = await laboratory.create({ limits: { memoryBytes, pids: 40 } })
    expect(settingsOf(laboratory, 'memory.limit_in_bytes', 'memory.max')).toContain(String(memoryBytes))
    // A backend may add what it needs itself (a monitor, the guest), but not leave it open.
    const pids = settingsOf(laboratory, 'pids.max').map(Number)
    expect(
      pids.some((most) => most >= 40 && most <= 48),
      `pids.max is ${pids.join(', ')}`,
    ).toBe(true)
    expect([memoryBytes, null]).toContain((await inside.stats()).memoryLimitBytes)
  },

  'the sandbox has a host name of its own': async (laboratory) => {
    const { inside } = await laboratory.create()
    expect(await shell(inside, 'cat /proc/sys/kernel/hostname')).toBe('sandbox')
  },
}
