/** A guest of a packed sandbox, run on this host as root (no isolation: that is the backends' suite). */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectInside } from './guest-inside.ts'
import type { ExecRequest, Inside } from './inside.ts'

const BUILT = join(import.meta.dirname, '../../../../guest/build')
const GUESTS = ['holdfast-guest', 'holdfast-guest-sanitized'].map((name) => ({ name, path: join(BUILT, name) }))

/** Nobody's on this machine, and another for each process that runs these tests. */
const FIRST = 2_130_000_000 + (process.pid % 4_000_000)
const COUNT = 3

let directory = ''
let guest: ChildProcess
let inside: Inside

async function dial(path: string): Promise<Inside> {
  for (;;) {
    const socket = connect(path)
    const isThere = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    if (isThere) return connectInside(socket)
    // The guest is still starting; it has no other way to say that it listens.
    await delay(5)
  }
}

async function outputOf(argv: readonly string[], request: Partial<ExecRequest>): Promise<string> {
  const execution = await inside.exec({ argv, ...request })
  let output = ''
  await execution.drain(({ bytes }) => void (output += bytes.toString()))
  return output
}

function pidsOf(uid: number): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      return new RegExp(`^State:\\s+[^ZX][^]*^Uid:\\s+${uid}\\s`, 'm').test(readFileSync(`/proc/${name}/status`, 'utf8'))
    } catch {
      return false // gone meanwhile
    }
  })
}

/** `pidsOf` sees it, so an empty answer later means something. */
async function startStubborn(uid: number): Promise<bigint> {
  const script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 1000; done' &); while :; do sleep 1000; done"
  const execution = await inside.exec({ argv: ['sh', '-c', script], uid })
  await execution.output[Symbol.asyncIterator]().next()
  expect(pidsOf(uid).length).toBeGreaterThanOrEqual(2)
  return execution.id
}

describe.runIf(process.getuid?.() === 0).each(GUESTS)('$name as root', ({ path: binary }) => {
  if (!existsSync(binary)) {
    test.skip('is not built: npm test builds it', () => undefined)
    return
  }

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-packed-guest-'))
    const users = ['--first-user', String(FIRST), '--user-count', String(COUNT), '--user-processes', '12']
    const socket = join(directory, 'guest.sock')
    guest = spawn(binary, ['serve', '--listen', socket, '--allow-local-peers', ...users], { stdio: ['ignore', 'ignore', 'inherit'] })
    inside = await dial(socket)
  })

  afterAll(async () => {
    inside.close()
    guest.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true })
  })

  test('a program is whom it was asked to be, in its own home, and its files are its own', async () => {
    const uid = FIRST + 1
    const script = 'id -u; id -g; id -G; echo "$HOME $USER $LOGNAME $TMPDIR"; pwd; umask; ulimit -u'
    expect(await outputOf(['bash', '-c', script], { uid, home: '/' })).toBe(
      `${uid}\n${uid}\n${uid}\n/ u${uid} u${uid} //.tmp\n/\n0077\n12\n`,
    )
    expect(await outputOf(['sh', '-c', 'echo "$HOME ${TMPDIR-none}"; pwd'], { uid })).toBe('/ none\n/\n')
    expect(await outputOf(['sh', '-c', 'echo "$HOME $TMPDIR"'], { uid, home: '/x', cwd: '/', env: { TMPDIR: '/y' } })).toBe('/x /y\n')
  })

  test('nobody runs without a uid, or with one that is not of the range', async () => {
    for (const request of [{}, { user: 'root' }, { user: 'nobody' }, { uid: FIRST - 1 }, { uid: FIRST + COUNT }, { uid: 1000 }])
      await expect(inside.exec({ argv: ['true'], cwd: '/', ...request }), JSON.stringify(request)).rejects.toMatchObject({
        code: 'command_not_started',
      })
    for (const request of [
      { uid: 0 },
      { uid: -1 },
      { uid: 1.5 },
      { uid: 0xffff_ffff },
      { uid: FIRST, user: 'nobody' },
      { home: '/x' },
      { uid: FIRST, home: 'x' },
    ])
      await expect(inside.exec({ argv: ['true'], ...request }), JSON.stringify(request)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('killing a user ends all of it, deaf ones and daemons too, and nobody else', async () => {
    const [doomed, spared] = [await startStubborn(FIRST), await startStubborn(FIRST + 1)]
    const report = await inside.processes.killUser(FIRST, 20)
    expect(report).toMatchObject({ verified: true })
    expect(report.killed).toBeGreaterThan(0)
    expect(pidsOf(FIRST)).toEqual([])
    const listed = new Map((await inside.processes.list()).map(({ id, state, uid }) => [id, { state, uid }]))
    expect(listed.get(doomed)).toEqual({ state: 'ended', uid: FIRST })
    expect(listed.get(spared)).toEqual({ state: 'running', uid: FIRST + 1 })
    expect(await inside.processes.killUser(FIRST + 1)).toMatchObject({ verified: true })
    expect(pidsOf(FIRST + 1)).toEqual([])
  })

  test('a user that is killed has its grace, and its end is reported as it was', async () => {
    const script = "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done"
    const execution = await inside.exec({ argv: ['sh', '-c', `exec 2> /dev/null; ${script}`], uid: FIRST })
    const output = execution.output[Symbol.asyncIterator]()
    await output.next()
    const killing = inside.processes.killUser(FIRST, 10_000)
    expect((await output.next()).value?.bytes.toString()).toBe('bye\n')
    const report = await killing
    expect(report.verified).toBe(true)
    expect(report.killed).toBeGreaterThanOrEqual(1)
    expect((await inside.processes.list()).find(({ id }) => id === execution.id)?.state).toBe('ended')
  })

  test('a process of the user that no execution knows is found and killed too', async () => {
    const stray = spawn('sleep', ['1000'], { uid: FIRST, gid: FIRST, stdio: 'ignore' })
    await new Promise((resolve) => stray.once('spawn', resolve))
    const ended = new Promise((resolve) => stray.once('exit', (_code, signal) => resolve(signal)))
    const report = await inside.processes.killUser(FIRST)
    expect(report).toMatchObject({ verified: true })
    // One that takes a moment to die may be met twice.
    expect(report.killed).toBeGreaterThanOrEqual(1)
    expect(await ended).toBe('SIGKILL')
  })

  test('while a user is being killed nothing new starts for it', async () => {
    await startStubborn(FIRST)
    const killing = inside.processes.killUser(FIRST, 200)
    await expect(inside.exec({ argv: ['true'], cwd: '/', uid: FIRST })).rejects.toMatchObject({ code: 'command_not_started' })
    expect(await outputOf(['echo', 'up'], { uid: FIRST + 1 })).toBe('up\n')
    expect(await killing).toMatchObject({ verified: true })
    expect(await outputOf(['echo', 'up'], { uid: FIRST })).toBe('up\n')
  })

  test('a kill goes on when whoever asked for it has left, and nobody else gets its answer', async () => {
    await startStubborn(FIRST)
    const other = await dial(join(directory, 'guest.sock'))
    const report = other.processes.killUser(FIRST, 200).catch(() => null)
    await other.ping()
    other.close()
    await report
    // By the second answer the guest has seen that the other is gone, and the next takes its place.
    for (let turn = 0; turn < 2; turn++) await inside.ping()
    const successor = await dial(join(directory, 'guest.sock'))
    await expect.poll(() => pidsOf(FIRST)).toEqual([])
    expect(await inside.processes.killUser(FIRST)).toMatchObject({ verified: true })
    await successor.ping()
    successor.close()
  })

  test('only users of the range can be killed', async () => {
    for (const uid of [FIRST - 1, FIRST + COUNT, 1000])
      await expect(inside.processes.killUser(uid)).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(inside.processes.killUser(0)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('a range that holds root, nobody at all or no end is not served', async () => {
    const ranges = [
      ['0', '4', '4'],
      ['5', '0', '4'],
      ['5', '4', '0'],
      ['4294967290', '100', '4'],
    ]
    for (const [first = '', count = '', processes = ''] of ranges) {
      const users = ['--first-user', first, '--user-count', count, '--user-processes', processes]
      const refused = spawn(binary, ['serve', '--listen', join(directory, 'refused.sock'), ...users], { stdio: 'ignore' })
      expect(await new Promise((resolve) => refused.once('exit', resolve)), users.join(' ')).toBe(1)
    }
  })
})
