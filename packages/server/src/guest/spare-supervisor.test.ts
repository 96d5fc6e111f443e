/** A supervisor that outlives its tree and serves the next command, in a guest that runs on this host as root (no isolation here). */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectInside } from './guest-inside.ts'
import type { ExecRequest, Execution, Inside } from './inside.ts'

const BUILT = join(import.meta.dirname, '../../../../guest/build')
const GUESTS = ['holdfast-guest', 'holdfast-guest-sanitized'].map((name) => ({ name, path: join(BUILT, name) }))

/** Nobody's on this machine, and another for each process that runs these tests. */
const FIRST = 2_120_000_000 + (process.pid % 4_000_000)
const USERS = ['--first-user', String(FIRST), '--user-count', '2', '--user-processes', '12']
const ONE_USER = ['--uid', String(FIRST), '--gid', String(FIRST)]
/** Larger mappings are the sanitizer's own books. */
const MAPPING_LIMIT = 64 * 1024 * 1024

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

async function serve(binary: string, users: readonly string[]): Promise<void> {
  const socket = join(directory, 'guest.sock')
  guest = spawn(binary, ['serve', '--listen', socket, '--allow-local-peers', ...users], { stdio: ['ignore', 'ignore', 'inherit'] })
  inside = await dial(socket)
}

async function start(script: string, request: Partial<ExecRequest> = {}): Promise<Execution> {
  return inside.exec({ argv: ['sh', '-c', script], cwd: '/', ...request })
}

async function outputOf(script: string, request: Partial<ExecRequest> = {}): Promise<string> {
  const execution = await start(script, request)
  let output = ''
  await execution.drain(({ bytes }) => void (output += bytes.toString()))
  return output.trimEnd()
}

/** The process that a command has as its parent. */
const supervisor = (request: Partial<ExecRequest> = {}): Promise<string> => outputOf('echo $PPID', request)

function isAlive(pid: string): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Whether a process has the text anywhere in memory that it can write to. */
function remembers(pid: string, text: string): boolean {
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    return readFileSync(`/proc/${pid}/maps`, 'utf8')
      .split('\n')
      .some((line) => {
        const [, from = '', to = '', isWritable] = /^([0-9a-f]+)-([0-9a-f]+) r(w)?/.exec(line) ?? []
        const size = Number.parseInt(to, 16) - Number.parseInt(from, 16)
        if (!isWritable || size > MAPPING_LIMIT) return false
        const bytes = Buffer.alloc(size)
        return bytes.subarray(0, readSync(memory, bytes, 0, size, Number.parseInt(from, 16))).includes(text)
      })
  } finally {
    closeSync(memory)
  }
}

describe.runIf(process.getuid?.() === 0).each(GUESTS)('$name as root', ({ path: binary }) => {
  if (!existsSync(binary)) {
    test.skip('is not built: npm test builds it', () => undefined)
    return
  }

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-spare-'))
  })

  afterEach(async () => {
    inside.close()
    guest.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true })
  })

  test('a command that follows another has the same supervisor, and two at once have one each', async () => {
    await serve(binary, ONE_USER)
    const first = await supervisor()
    const descriptors = readdirSync(`/proc/${first}/fd`)
    expect(await supervisor()).toBe(first)
    expect(readdirSync(`/proc/${first}/fd`)).toHaveLength(descriptors.length)
    const running = await start('echo $PPID; exec cat', { stdin: 'pipe' })
    const chunk = await running.output[Symbol.asyncIterator]().next()
    expect(chunk.value?.bytes.toString().trim()).toBe(first)
    expect(await supervisor()).not.toBe(first)
    await running.kill()
  })

  test('one that still has something of a tree serves nobody else', async () => {
    await serve(binary, ONE_USER)
    const left = await start('echo $PPID; sleep 1000 > /dev/null 2>&1 &')
    let first = ''
    await left.drain(({ bytes }) => void (first += bytes.toString().trim()))
    expect(await left.exit).toMatchObject({ exitCode: 0, survivors: true })
    expect(await supervisor()).not.toBe(first)
    expect(await inside.processes.kill({ id: left.id })).toMatchObject({ verified: true })
  })

  test('a program is who, where and what it was asked to be, whoever came before', async () => {
    await serve(binary, USERS)
    const script = 'id -u; id -G; pwd; umask; ulimit -n; echo "$MARK"; ls -x /proc/self/fd'
    const limited = { uid: FIRST, cwd: '/usr', env: { MARK: 'one' }, rlimits: { nofile: [77, 77] } } as const
    const one = await outputOf(script, limited)
    expect(one).toMatch(new RegExp(`^${FIRST}\n${FIRST}\n/usr\n0077\n77\none\n0 +1 +2 +3$`))
    const two = await outputOf(script, { uid: FIRST + 1, cwd: '/' })
    expect(two).toMatch(new RegExp(`^${FIRST + 1}\n${FIRST + 1}\n/\n0077\n(?!77\n)\\d+\n\n0 +1 +2 +3$`))
    expect(await outputOf(script, limited)).toBe(one)
    expect(await supervisor({ uid: FIRST })).toBe(await supervisor({ uid: FIRST + 1 }))
  })

  test('its memory holds nothing of the environments it passed on', async () => {
    await serve(binary, USERS)
    // Forked with the request the first time, sent it the second. What the guest was called with shows that the search finds things.
    for (const uid of [FIRST, FIRST + 1]) {
      const secret = randomUUID()
      const pid = await supervisor({ uid, env: { SECRET: secret } })
      expect(remembers(pid, directory)).toBe(true)
      expect(remembers(pid, secret)).toBe(false)
    }
  })

  test('an order for a program that has ended does not reach the next', async () => {
    await serve(binary, ONE_USER)
    const ending = await start('echo $PPID; read line', { stdin: 'pipe' })
    const pid = (await ending.output[Symbol.asyncIterator]().next()).value?.bytes.toString().trim() ?? ''
    process.kill(Number(pid), 'SIGSTOP')
    ending.stdin.end()
    await expect.poll(() => isAlive(String(ending.pid))).toBe(false)
    // It hears of the end together with the first of them, and has nobody left for the second.
    await ending.signal('SIGKILL')
    await ending.signal('SIGKILL')
    process.kill(Number(pid), 'SIGCONT')
    expect(await ending.exit).toMatchObject({ exitCode: 1, signal: null })
    expect(await outputOf('sleep 0.01; echo $PPID')).toBe(pid)
  })

  test('one that cannot start its program, or is too small for the request, gives way to another', async () => {
    await serve(binary, ONE_USER)
    const first = await supervisor()
    const large = 'x'.repeat(100_000)
    expect(await outputOf('echo ${#LARGE} $PPID', { env: { LARGE: large } })).not.toContain(` ${first}`)
    expect(await supervisor()).toBe(first)
    await expect(inside.exec({ argv: ['/no/such/program'], cwd: '/' })).rejects.toMatchObject({ code: 'command_not_started' })
    const next = await supervisor()
    expect(next).not.toBe(first)
    expect(await supervisor()).toBe(next)
  })

  test('one that is killed while it waits is missed by nobody', async () => {
    await serve(binary, ONE_USER)
    for (let turn = 0; turn < 20; turn++) {
      const pid = await supervisor()
      process.kill(Number(pid), 'SIGKILL')
      expect(await supervisor()).not.toBe(pid)
    }
  })

  test('one that is killed with a program in its hands leaves nobody waiting', async () => {
    await serve(binary, ONE_USER)
    const pid = Number(await supervisor())
    process.kill(pid, 'SIGSTOP')
    const starting = start('true')
    // Answered after the request, which has then gone to a supervisor that cannot take it.
    await inside.processes.list()
    process.kill(pid, 'SIGKILL')
    expect(await (await starting).exit).toMatchObject({ exitCode: null, signal: null, survivors: false })
    expect(await supervisor()).not.toBe(String(pid))
  })

  test('it goes when no command comes for a while, and with the guest', async () => {
    await serve(binary, ONE_USER)
    const idle = await supervisor()
    expect(isAlive(idle)).toBe(true)
    await expect.poll(() => isAlive(idle)).toBe(false)
    const last = await supervisor()
    expect(isAlive(last)).toBe(true)
    guest.kill('SIGKILL')
    await expect.poll(() => isAlive(last)).toBe(false)
  })

  test("programs that are the guest's own user get a new one each", async () => {
    await serve(binary, [])
    const first = await supervisor()
    expect(await supervisor()).not.toBe(first)
    await expect.poll(() => isAlive(first)).toBe(false)
  })
})
