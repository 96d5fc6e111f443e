/** Proofs of the inside against the real guest, run on this host as the current user (no isolation: that is the backends' suite). */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync } from 'node:fs'
import { chmod, link, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connectInside } from './guest-inside.ts'
import type { ConnectOptions } from './guest-inside.ts'
import type { ExecExit, ExecRequest, Execution, Inside, OutputChunk, WatchEvent } from './inside.ts'

const BUILT = join(import.meta.dirname, '../../../../guest/build')
/** The one that ships, and the same code under AddressSanitizer and UBSan, which `npm test` builds. */
const GUESTS = ['holdfast-guest', 'holdfast-guest-sanitized'].map((name) => ({ name, path: join(BUILT, name) }))

let directory = ''
let guest: ChildProcess
let inside: Inside

async function dial(): Promise<Socket> {
  for (;;) {
    const socket = connectPoisoning(join(directory, 'guest.sock'))
    const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
      socket.once('connect', () => resolve(null)).once('error', resolve)
    })
    if (!error) return socket
    // The guest is still starting; it has no other way to say that it listens.
    if (error.code !== 'ENOENT' && error.code !== 'ECONNREFUSED') throw error
    await delay(5)
  }
}

/** Like a connection of the backends, whose bytes last until the next read; here they are spoilt at once, so that keeping them shows. */
function connectPoisoning(path: string): Socket {
  const socket = connect({
    path,
    onread: {
      buffer: Buffer.allocUnsafeSlow(65_536),
      callback(length, bytes) {
        if (Buffer.isBuffer(bytes)) socket.emit('data', bytes.subarray(0, length))
        bytes.fill(0xdd)
        return true
      },
    },
  })
  return socket
}

async function another(options: ConnectOptions = {}): Promise<Inside> {
  const connection = await connectInside(await dial(), options)
  onTestFinished(() => connection.close())
  return connection
}

interface Finished {
  readonly stdout: string
  readonly stderr: string
  readonly exit: ExecExit
}

async function collect(execution: Execution): Promise<Finished> {
  const chunks: Record<OutputChunk['channel'], Buffer[]> = { stdout: [], stderr: [] }
  const exit = await execution.drain(({ channel, bytes }) => void chunks[channel].push(Buffer.from(bytes)))
  return { stdout: Buffer.concat(chunks.stdout).toString(), stderr: Buffer.concat(chunks.stderr).toString(), exit }
}

async function run(argv: readonly string[], request: Partial<ExecRequest> = {}): Promise<Finished> {
  return collect(await inside.exec({ cwd: '/', ...request, argv }))
}

function shell(script: string, request: Partial<ExecRequest> = {}): Promise<Finished> {
  return run(['sh', '-c', script], request)
}

/** Reads until the text appears; the execution stays attached. */
async function until(iterator: AsyncIterator<OutputChunk>, text: string): Promise<string> {
  let seen = ''
  while (!seen.includes(text)) {
    const next = await iterator.next()
    if (next.done) throw new Error(`the output ended without ${text}: ${seen}`)
    seen += next.value.bytes.toString()
  }
  return seen
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe.each(GUESTS)('$name', ({ path: binary }) => {
  if (!existsSync(binary)) {
    test.skip('is not built: npm test builds it', () => undefined)
    return
  }

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-guest-'))
    guest = spawn(binary, ['serve', '--listen', join(directory, 'guest.sock'), '--allow-local-peers'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    inside = await connectInside(await dial())
  })

  afterAll(async () => {
    inside.close()
    guest.kill('SIGKILL')
    await rm(directory, { recursive: true, force: true })
  })

  describe('running programs', () => {
    test('argv arrives as given', async () => {
      const { stdout } = await run(['printf', '%s|', 'a b', '', '"$HOME"', 'ünïcode', '*'])
      expect(stdout).toBe('a b||"$HOME"|ünïcode|*|')
    })

    test('the environment is what was given plus the defaults, and nothing else', async () => {
      const { stdout } = await run(['env'], { env: { GREETING: 'hello world', USER: 'someone' } })
      expect(stdout.trim().split('\n').toSorted()).toEqual([
        'GREETING=hello world',
        'HOME=/home/user',
        'LANG=C.UTF-8',
        'LOGNAME=user',
        'PATH=/home/user/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/etc/holdfast/bin:/home/user/.cargo/bin:/home/user/go/bin',
        'PIP_BREAK_SYSTEM_PACKAGES=1',
        'USER=someone',
        'npm_config_globalconfig=/etc/npmrc',
        'npm_config_prefix=/home/user/.local',
      ])
    })

    test('the working directory is the one asked for', async () => {
      expect(await run(['pwd'], { cwd: directory })).toMatchObject({ stdout: `${directory}\n` })
    })

    test('a missing program and a missing directory are told apart', async () => {
      await expect(run(['no-such-program'])).rejects.toMatchObject({
        code: 'command_not_started',
        details: { errno: 'ENOENT' },
        message: expect.stringContaining('program'),
      })
      await expect(run(['true'], { cwd: '/no/such/place' })).rejects.toMatchObject({
        code: 'command_not_started',
        message: expect.stringContaining('directory'),
      })
    })

    test('exit codes, signals and separate outputs are reported', async () => {
      expect(await shell('echo out; echo err >&2; exit 7')).toMatchObject({
        stdout: 'out\n',
        stderr: 'err\n',
        exit: { exitCode: 7, signal: null, killed: false },
      })
      expect(await shell('kill -SEGV $$')).toMatchObject({ exit: { exitCode: null, signal: 'SIGSEGV', killed: false } })
    })

    test('bytes that are no text arrive as they were', async () => {
      const execution = await inside.exec({ argv: ['printf', '\\377\\376\\000\\200'], cwd: '/' })
      const chunks: Buffer[] = []
      await execution.drain(({ bytes }) => void chunks.push(Buffer.from(bytes)))
      expect(Buffer.concat(chunks).toString('hex')).toBe('fffe0080')
    })

    test('stdin is streamed and ends', async () => {
      const execution = await inside.exec({ argv: ['sha256sum'], cwd: '/', stdin: 'pipe' })
      const content = randomBytes(3_000_000)
      const result = collect(execution)
      await execution.stdin.write(content.subarray(0, 10))
      await execution.stdin.write(content.subarray(10))
      execution.stdin.end()
      expect((await result).stdout).toContain(createHash('sha256').update(content).digest('hex'))
    })

    test('a program that does not read its stdin blocks nobody, and lets its writer go when it dies', async () => {
      const idle = await inside.exec({ argv: ['sleep', '100'], cwd: '/', stdin: 'pipe', ephemeral: true })
      let isSettled = false
      const write = Promise.allSettled([idle.stdin.write(Buffer.alloc(4_000_000))]).then(() => {
        isSettled = true
      })
      expect(await shell('echo still here')).toMatchObject({ stdout: 'still here\n' })
      expect(isSettled).toBe(false)
      await idle.kill()
      await write
    })

    test('resource limits hold', async () => {
      expect(await shell('ulimit -n', { rlimits: { nofile: [64, 64] } })).toMatchObject({ stdout: '64\n' })
    })

    test('64 executions at once all answer', async () => {
      const results = await Promise.all(Array.from({ length: 64 }, (_, index) => shell(`echo ${index}`)))
      expect(results.map(({ stdout }) => Number(stdout))).toEqual(Array.from({ length: 64 }, (_, index) => index))
    })

    const invalid: Readonly<Record<string, Partial<ExecRequest>>> = {
      'an empty argv': { argv: [] },
      'NUL in an argument': { argv: ['echo', 'a\0b'] },
      'NUL in a value': { argv: ['true'], env: { A: 'a\0b' } },
      'NUL in the directory': { argv: ['true'], cwd: '/a\0b' },
      'an argument of 10 MB': { argv: ['echo', 'a'.repeat(10_000_000)] },
      'an argument just above the limit': { argv: ['echo', 'a'.repeat(131_072)] },
      'too many arguments': { argv: Array.from({ length: 200_000 }, () => 'a') },
      'too much in total': { argv: Array.from({ length: 8 }, () => 'a'.repeat(127_000)) },
      'an empty name': { argv: ['true'], env: { '': 'x' } },
      'a name with =': { argv: ['true'], env: { 'A=B': 'x' } },
      'a relative directory': { argv: ['true'], cwd: 'somewhere' },
      'a negative timeout': { argv: ['true'], timeoutMs: -1 },
      'a long tag': { argv: ['true'], tag: 'a'.repeat(129) },
      'a terminal without columns': { argv: ['true'], pty: { cols: 0, rows: 24 } },
    }
    test.each(Object.keys(invalid))('%s is refused before anything is sent', async (name) => {
      await expect(inside.exec({ argv: [], cwd: '/', ...invalid[name] })).rejects.toMatchObject({ code: 'invalid_request' })
    })

    test('the largest argument that Linux takes is taken', async () => {
      const { stdout } = await run(['printf', '%s', 'a'.repeat(131_071)])
      expect(stdout).toHaveLength(131_071)
    })
  })

  describe('signals and kills', () => {
    test('a signal reaches the main process', async () => {
      const execution = await inside.exec({
        argv: ['sh', '-c', 'trap "echo got it; exit 3" USR1; echo ready; while :; do sleep 0.01; done'],
        cwd: '/',
      })
      const iterator = execution.output[Symbol.asyncIterator]()
      await until(iterator, 'ready')
      await execution.signal('SIGUSR1')
      await until(iterator, 'got it')
      expect(await execution.exit).toMatchObject({ exitCode: 3 })
    })

    /** Prints its own pid, then a child that left the session, one that forked twice, and one that ignores SIGTERM. */
    const STUBBORN = `trap '' TERM
      setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
      (setsid sh -c '(trap "" TERM; exec sh -c "echo \\$\\$; while :; do sleep 1; done") &' &)
      sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
      sleep 0.2; echo $$; echo ready; while :; do sleep 1; done`

    function pidsIn(text: string): readonly number[] {
      return [...text.matchAll(/^\d+$/gm)].map(([pid]) => Number(pid))
    }

    test('kill takes the whole tree and proves it empty', async () => {
      const execution = await inside.exec({ argv: ['sh', '-c', STUBBORN], cwd: '/' })
      const iterator = execution.output[Symbol.asyncIterator]()
      const pids = pidsIn(await until(iterator, 'ready'))
      expect(pids).toHaveLength(4)
      const report = await execution.kill(50)
      expect(report.verified).toBe(true)
      expect(report.killed).toBeGreaterThanOrEqual(4)
      expect(pids.filter(isAlive)).toEqual([])
      expect(await execution.exit).toMatchObject({ signal: 'SIGKILL', killed: true })
    })

    test('a program that ends by SIGTERM within its grace counts as killed', async () => {
      const execution = await inside.exec({ argv: ['sh', '-c', 'echo ready; exec sleep 100'], cwd: '/' })
      await until(execution.output[Symbol.asyncIterator](), 'ready')
      expect(await execution.kill(10_000)).toEqual({ killed: 1, verified: true })
      expect(await execution.exit).toMatchObject({ signal: 'SIGTERM', killed: true })
    })

    test('a timeout takes the whole tree', async () => {
      const { stdout, exit } = await shell(STUBBORN, { timeoutMs: 600 })
      expect(exit).toMatchObject({ signal: 'SIGKILL', timedOut: true })
      const pids = pidsIn(stdout)
      expect(pids).toHaveLength(4)
      // The exit is known when the main process is dead; the kill of the rest is proved by asking for it.
      while (pids.some(isAlive)) await delay(5)
    })

    test('what lives on in the background is reported and can be killed', async () => {
      const execution = await inside.exec({ argv: ['sh', '-c', 'sleep 100 >/dev/null 2>&1 & echo $!'], cwd: '/' })
      const { stdout, exit } = await collect(execution)
      expect(exit).toMatchObject({ exitCode: 0, survivors: true })
      expect(await inside.processes.list()).toContainEqual(expect.objectContaining({ id: execution.id, state: 'lingering' }))
      expect(await inside.processes.kill({ id: execution.id })).toEqual({ killed: 1, verified: true })
      expect(isAlive(Number(stdout))).toBe(false)
    })

    test('an ephemeral execution dies with its reader', async () => {
      const execution = await inside.exec({ argv: ['sh', '-c', 'echo $$; exec sleep 100'], cwd: '/', ephemeral: true })
      const iterator = execution.output[Symbol.asyncIterator]()
      const pid = Number(await until(iterator, '\n'))
      execution.detach()
      while (isAlive(pid)) await delay(5)
    })

    test('an unknown execution is unknown', async () => {
      await expect(inside.processes.kill({ id: 999_999n })).rejects.toMatchObject({ code: 'process_unknown' })
      await expect(inside.processes.attach({ tag: 'never-was' })).rejects.toMatchObject({ code: 'process_unknown' })
    })
  })

  describe('output', () => {
    test('of a program that changes between stdout and stderr with every byte is read to its end', async () => {
      const script = 'i=0; while [ $i -lt 60000 ]; do printf o; printf e >&2; i=$((i + 1)); done'
      const { stdout, stderr, exit } = await collect(await inside.exec({ argv: ['sh', '-c', script], cwd: '/' }))
      expect([stdout.length, stderr.length, exit.exitCode]).toEqual([60_000, 60_000, 0])
    })

    test('100 MB arrive complete and in order', async () => {
      const execution = await inside.exec({ argv: ['sh', '-c', 'yes 0123456789abcdef | head -c 100000000'], cwd: '/' })
      const hash = createHash('sha256')
      let bytes = 0
      await execution.drain((chunk) => {
        hash.update(chunk.bytes)
        bytes += chunk.bytes.length
        expect(chunk.seq).toBe(bytes)
      })
      const expected = createHash('sha256')
        .update('0123456789abcdef\n'.repeat(Math.ceil(100_000_000 / 17)).slice(0, 100_000_000))
        .digest('hex')
      expect(bytes).toBe(100_000_000)
      expect(hash.digest('hex')).toBe(expected)
    })

    test('a reader who stops holds the program and nobody else', async () => {
      const execution = await inside.exec({ argv: ['sh', '-c', 'head -c 20000000 /dev/zero; echo done >&2'], cwd: '/' })
      const iterator = execution.output[Symbol.asyncIterator]()
      await iterator.next()
      expect(await shell('echo others run')).toMatchObject({ stdout: 'others run\n' })
      const info = (await inside.processes.list()).find(({ id }) => id === execution.id)
      expect(info).toMatchObject({ state: 'running' })
      expect(info?.seq).toBeLessThan(3_000_000)
      let bytes = 0
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) bytes += next.value.bytes.length
      expect(await execution.exit).toMatchObject({ exitCode: 0 })
      expect(bytes).toBeGreaterThan(15_000_000)
    })

    test('many readers of many small pieces are served at once', async () => {
      // The pauses keep the guest from reading several writes as one piece.
      const pause = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)'
      const printer = `for (let i = 0; i < 300; i++) { require('fs').writeSync(1 + (i % 2), 'x'.repeat(2000)); ${pause} }`
      const started = await Promise.all(
        Array.from({ length: 16 }, () => inside.exec({ argv: [process.execPath, '-e', printer], cwd: '/' })),
      )
      await Promise.all(started.map((execution) => execution.drain(() => undefined)))
      const readers = await Promise.all(started.map(({ id }) => inside.processes.attach({ id })))
      const read = await Promise.all(readers.map(collect))
      for (const { stdout, stderr } of read) expect([stdout.length, stderr.length]).toEqual([300_000, 300_000])
      for (const { id } of started) inside.processes.forget(id)
    })

    test('a reader who leaves comes back by tag and by id without a loss', async () => {
      const first = await inside.exec({
        argv: ['sh', '-c', 'echo one; read line; echo two; read line; echo three'],
        cwd: '/',
        stdin: 'pipe',
        tag: 'comes-back',
      })
      const [chunk] = await Array.fromAsync(take(first, 1))
      first.detach()
      const other = await another()
      const second = await other.processes.attach({ tag: 'comes-back' }, { after: chunk?.seq ?? 0 })
      expect(second).toMatchObject({ id: first.id, tag: 'comes-back', skippedBytes: 0, pid: first.pid })
      await second.stdin.write(Buffer.from('\n'))
      const iterator = second.output[Symbol.asyncIterator]()
      expect(await until(iterator, 'two')).toBe('two\n')
      other.close()
      const third = await inside.processes.attach({ id: first.id })
      await third.stdin.write(Buffer.from('\n'))
      expect(await collect(third)).toMatchObject({ stdout: 'one\ntwo\nthree\n', exit: { exitCode: 0 } })
      const again = await inside.processes.attach({ id: first.id }, { after: 8 })
      expect(await collect(again)).toMatchObject({ stdout: 'three\n', exit: { exitCode: 0 } })
    })

    test('stdin credit is not lost with the reader', async () => {
      const first = await inside.exec({ argv: ['wc', '-c'], cwd: '/', stdin: 'pipe' })
      await first.stdin.write(Buffer.alloc(200_000))
      first.detach()
      const second = await inside.processes.attach({ id: first.id })
      const written = collect(second)
      await second.stdin.write(Buffer.alloc(1_000_000))
      second.stdin.end()
      expect((await written).stdout.trim()).toBe('1200000')
    })

    test('bytes that nobody read in time are counted', async () => {
      const first = await inside.exec({
        argv: ['sh', '-c', 'read line; head -c 3000000 /dev/zero; echo; read line'],
        cwd: '/',
        stdin: 'pipe',
        tag: 'overflow',
      })
      const stdin = first.stdin
      await stdin.write(Buffer.from('go\n'))
      first.detach()
      let seq = 0
      while (seq < 3_000_001) {
        await delay(5)
        seq = (await inside.processes.list()).find(({ id }) => id === first.id)?.seq ?? 0
      }
      const second = await inside.processes.attach({ tag: 'overflow' }, { after: 100 })
      await second.stdin.write(Buffer.from('\n'))
      let bytes = 0
      await second.drain((chunk) => {
        bytes += chunk.bytes.length
      })
      expect(second.skippedBytes).toBeGreaterThan(1_000_000)
      expect(100 + second.skippedBytes + bytes).toBe(3_000_001)
    })

    test('executions are listed with tag, name and state, and forgotten on request', async () => {
      const execution = await inside.exec({ argv: ['sleep', '100'], cwd: '/', tag: 'listed' })
      expect(await inside.processes.list()).toContainEqual(
        expect.objectContaining({ id: execution.id, tag: 'listed', name: 'sleep', state: 'running', pid: execution.pid, seq: 0 }),
      )
      await execution.kill()
      await execution.drain(() => undefined)
      expect(await inside.processes.list()).toContainEqual(expect.objectContaining({ id: execution.id, state: 'ended' }))
      inside.processes.forget(execution.id)
      await inside.ping()
      expect((await inside.processes.list()).filter(({ id }) => id === execution.id)).toEqual([])
    })
  })

  describe('terminals', () => {
    test('an end is reported although something in the background still holds the terminal', async () => {
      const terminal = await inside.pty({
        argv: ['sh', '-c', 'trap "" HUP; sleep 1000 & echo said'],
        cwd: '/',
        size: { cols: 80, rows: 24 },
      })
      let said = ''
      const exit = await terminal.drain(({ bytes }) => void (said += bytes.toString()))
      expect({ said, exit }).toMatchObject({ said: 'said\r\n', exit: { exitCode: 0, survivors: true } })
      expect(await terminal.kill()).toMatchObject({ verified: true })
    })

    test('a terminal has a size, and a new one after a resize', async () => {
      const execution = await inside.pty({
        argv: ['sh', '-c', 'stty size; trap "stty size; exit 4" WINCH; echo $TERM ready; while :; do sleep 0.01; done'],
        cwd: '/',
        size: { cols: 90, rows: 30 },
      })
      const iterator = execution.output[Symbol.asyncIterator]()
      expect(await until(iterator, 'ready')).toContain('30 90\r\nxterm-256color ready')
      await execution.resize({ cols: 120, rows: 40 })
      await until(iterator, '40 120')
      expect(await execution.exit).toMatchObject({ exitCode: 4 })
    })

    test('what is typed is echoed, and control-c interrupts', async () => {
      const execution = await inside.pty({ argv: ['cat'], cwd: '/', size: { cols: 80, rows: 24 } })
      const iterator = execution.output[Symbol.asyncIterator]()
      await execution.stdin.write(Buffer.from('hello\n'))
      await until(iterator, 'hello\r\nhello\r\n')
      await execution.stdin.write(Buffer.from('\u0003'))
      expect(await execution.exit).toMatchObject({ signal: 'SIGINT' })
    })

    test('resizing what is no terminal is refused', async () => {
      const execution = await inside.exec({ argv: ['sleep', '100'], cwd: '/', ephemeral: true })
      await expect(execution.resize({ cols: 80, rows: 24 })).rejects.toMatchObject({
        code: 'invalid_request',
        details: { errno: 'ENOTTY' },
      })
      execution.detach()
    })
  })

  describe('files', () => {
    let root = ''
    beforeAll(async () => {
      root = join(directory, 'files')
      await mkdir(root)
    })

    test('10 MB are written and read byte for byte', async () => {
      const content = randomBytes(10_000_000)
      const path = join(root, 'large')
      await inside.files.write(path, content)
      expect((await readFile(path)).equals(content)).toBe(true)
      expect((await buffer(await inside.files.read(path))).equals(content)).toBe(true)
    })

    test('a stream of any length is written, and parts are read', async () => {
      const path = join(root, 'streamed')
      await inside.files.write(path, pieces(1_000))
      const expected = Array.from({ length: 1_000 }, (_, index) => `${index}\n`).join('')
      expect(await readFile(path, 'utf8')).toBe(expected)
      expect((await buffer(await inside.files.read(path, { offset: 2, length: 5 }))).toString()).toBe(expected.slice(2, 7))
      expect((await buffer(await inside.files.read(path, { offset: 1_000_000 }))).toString()).toBe('')
    })

    test('an empty file is written and read', async () => {
      await inside.files.write(join(root, 'empty'), '')
      expect(await buffer(await inside.files.read(join(root, 'empty')))).toHaveLength(0)
    })

    test('append, exclusive, parents and mode do what they say', async () => {
      const path = join(root, 'deep/er/file')
      await inside.files.write(path, 'one', { parents: true, mode: 0o600 })
      await inside.files.write(path, ' two', { append: true })
      expect(await readFile(path, 'utf8')).toBe('one two')
      expect(await inside.files.stat(path)).toMatchObject({ mode: 0o600, size: 7 })
      await expect(inside.files.write(path, 'x', { exclusive: true })).rejects.toMatchObject({
        code: 'file_operation_failed',
        details: { errno: 'EEXIST', path },
      })
      await expect(inside.files.write(join(root, 'missing/file'), 'x')).rejects.toMatchObject({ details: { errno: 'ENOENT' } })
    })

    test('an aborted write leaves the old content and nothing else', async () => {
      const place = join(root, 'aborted')
      await mkdir(place)
      await writeFile(join(place, 'file'), 'old')
      const abort = new AbortController()
      const { promise: isBegun, resolve: begin } = Promise.withResolvers<void>()
      async function* endless(): AsyncGenerator<Uint8Array> {
        for (;;) {
          yield Buffer.alloc(100_000)
          begin()
        }
      }
      const write = inside.files.write(join(place, 'file'), endless(), { signal: abort.signal })
      await isBegun
      abort.abort(new Error('enough'))
      await expect(write).rejects.toThrow('enough')
      while ((await readdir(place)).length > 1) await delay(5)
      expect(await readFile(join(place, 'file'), 'utf8')).toBe('old')
    })

    test('a source that fails leaves the old content, and its error is handed on', async () => {
      await writeFile(join(root, 'source-fails'), 'old')
      async function* failing(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('new')
        await Promise.resolve()
        throw new Error('the source failed')
      }
      await expect(inside.files.write(join(root, 'source-fails'), failing())).rejects.toThrow('the source failed')
      expect(await readFile(join(root, 'source-fails'), 'utf8')).toBe('old')
    })

    test('failures carry errno and path', async () => {
      await expect(inside.files.read(join(root, 'nowhere'))).rejects.toMatchObject({
        code: 'file_operation_failed',
        details: { errno: 'ENOENT', path: join(root, 'nowhere') },
      })
      await expect(inside.files.read(root)).rejects.toMatchObject({ details: { errno: 'EISDIR' } })
      await expect(inside.files.stat(join(root, 'nowhere'))).rejects.toMatchObject({ details: { errno: 'ENOENT' } })
      await expect(inside.files.read('relative')).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(inside.files.stat('/a\0b')).rejects.toMatchObject({ code: 'invalid_request' })
    })

    test('a read can be left, and can be aborted', async () => {
      const path = join(root, 'left')
      await writeFile(path, Buffer.alloc(5_000_000))
      for await (const chunk of await inside.files.read(path)) {
        expect(chunk.length).toBeGreaterThan(0)
        break
      }
      const abort = new AbortController()
      const readable = await inside.files.read(path, { signal: abort.signal })
      abort.abort(new Error('enough'))
      await expect(buffer(readable)).rejects.toThrow('enough')
    })

    test('stat tells files, directories and links apart', async () => {
      const place = join(root, 'kinds')
      await mkdir(place)
      await writeFile(join(place, 'file'), 'four')
      await chmod(join(place, 'file'), 0o640)
      await link(join(place, 'file'), join(place, 'hard'))
      await symlink('file', join(place, 'soft'))
      const now = Date.now()
      const file = await inside.files.stat(join(place, 'file'))
      expect(file).toMatchObject({
        path: join(place, 'file'),
        type: 'file',
        mode: 0o640,
        size: 4,
        links: 2,
        uid: process.getuid?.(),
        target: null,
      })
      expect(file.owner).not.toBe('')
      expect(Math.abs(file.modifiedAt.getTime() - now)).toBeLessThan(60_000)
      expect(await inside.files.stat(join(place, 'soft'))).toMatchObject({ type: 'symlink', target: 'file' })
      expect(await inside.files.stat(join(place, 'soft'), { follow: true })).toMatchObject({ type: 'file', size: 4, target: null })
      expect(await inside.files.stat(place)).toMatchObject({ type: 'directory' })
      expect(await inside.files.stat('/dev/null')).toMatchObject({ type: 'character-device' })
    })

    test('list goes as deep as asked and says when it stopped', async () => {
      const place = join(root, 'tree')
      await mkdir(join(place, 'a/b'), { recursive: true })
      await writeFile(join(place, 'a/b/c'), '')
      await writeFile(join(place, 'z'), '')
      const names = async (options: Parameters<Inside['files']['list']>[1]): Promise<readonly string[]> =>
        (await inside.files.list(place, options)).items.map(({ path }) => path.slice(place.length + 1))
      expect(await names({})).toEqual(['a', 'z'])
      expect(await names({ depth: 2 })).toEqual(['a', 'a/b', 'z'])
      expect(await names({ depth: 9 })).toEqual(['a', 'a/b', 'a/b/c', 'z'])
      expect(await inside.files.list(place, { depth: 9, limit: 2 })).toMatchObject({ truncated: true, items: { length: 2 } })
      expect(await inside.files.list(place, { depth: 9, limit: 4 })).toMatchObject({ truncated: false, items: { length: 4 } })
    })

    test('names that are no UTF-8 are shown with replacement characters', async () => {
      const place = join(root, 'names')
      await mkdir(place)
      await writeFile(Buffer.concat([Buffer.from(`${place}/`), Buffer.from([0x66, 0xff, 0x67])]), '')
      expect((await inside.files.list(place)).items.map(({ path }) => path)).toEqual([`${place}/f\ufffdg`])
    })

    test('glob and grep find what they should', async () => {
      const place = join(root, 'search')
      await mkdir(join(place, 'src/node_modules'), { recursive: true })
      await writeFile(join(place, 'src/a.ts'), 'first\nneedle 42\n')
      await writeFile(join(place, 'src/b.js'), 'NEEDLE\n')
      await writeFile(join(place, 'src/node_modules/c.ts'), 'needle 7\n')
      const found = await inside.files.glob('**/*.ts', { root: place })
      expect(found.items.map(({ path }) => path)).toEqual([join(place, 'src/a.ts'), join(place, 'src/node_modules/c.ts')])
      expect((await inside.files.glob('**/*.{ts,js}', { root: place, skipIgnored: true })).items).toHaveLength(2)
      expect(await inside.files.glob('**/*', { root: place, limit: 1 })).toMatchObject({ truncated: true })
      const matches = await inside.files.grep('needle \\d+', { root: place, skipIgnored: true })
      expect(matches).toEqual({ items: [{ path: join(place, 'src/a.ts'), line: 2, text: 'needle 42' }], truncated: false })
      expect((await inside.files.grep('needle', { root: place, include: '*.js', ignoreCase: true })).items).toHaveLength(1)
      expect((await inside.files.grep('needle .', { root: place, literal: true })).items).toHaveLength(0)
      await expect(inside.files.grep('(', { root: place })).rejects.toMatchObject({ details: { errno: 'EINVAL' } })
    })

    test('a search says what ran out, and gives what it found by then', async () => {
      const place = join(root, 'bounds')
      await mkdir(join(place, 'sub'), { recursive: true })
      for (const [index, name] of ['c', 'a', 'sub/b', 'd'].entries()) {
        await writeFile(join(place, name), 'needle\n')
        await utimes(join(place, name), index + 1, index + 1)
      }
      const newest = await inside.files.glob('**/?', { root: place, limit: 3, newestFirst: true })
      expect(newest.items.map(({ path }) => path)).toEqual(['d', 'sub/b', 'a'].map((name) => join(place, name)))
      expect(newest).toMatchObject({ truncated: true, cutBy: 'matches', total: 4 })
      expect(await inside.files.glob('**/?', { root: place, newestFirst: true })).toMatchObject({ truncated: false, total: 4 })
      expect(await inside.files.glob('**/?', { root: place, newestFirst: true, maxEntries: 2 })).toMatchObject({
        cutBy: 'entries',
        total: 2,
      })
      expect(await inside.files.glob('**/?', { root: place, limit: 2 })).toMatchObject({ truncated: true, cutBy: 'matches' })
      expect(await inside.files.glob('**/?', { root: place, maxEntries: 5 })).toMatchObject({ truncated: false })
      const bounded = (bounds: object) => inside.files.grep('needle', { root: place, ...bounds })
      expect(await bounded({ maxFiles: 3 })).toMatchObject({ truncated: true, cutBy: 'files', items: { length: 3 } })
      expect(await bounded({ maxFiles: 4, maxBytes: 28, maxEntries: 5, cpuMs: 5_000 })).toMatchObject({ truncated: false })
      expect(await bounded({ maxBytes: 27 })).toMatchObject({ cutBy: 'bytes', items: { length: 3 } })
      expect(await bounded({ maxEntries: 1 })).toMatchObject({ cutBy: 'entries', items: { length: 1 } })
      expect(await bounded({ limit: 4 })).toMatchObject({ truncated: false, items: { length: 4 } })
      expect(await bounded({ include: 'sub/*' })).toMatchObject({ items: [{ path: join(place, 'sub/b') }] })
    })

    test('a regular expression made to take for ever ends with its time, and what it needs of memory is bounded', async () => {
      const place = join(root, 'slow')
      await mkdir(place)
      await writeFile(join(place, 'a'), 'aab\n')
      await writeFile(join(place, 'b'), `${'a'.repeat(1_000_000)}!\n`)
      const found = await inside.files.grep('(a+)+b?$', { root: place, cpuMs: 100 })
      expect(found).toMatchObject({ items: [{ path: join(place, 'a') }], truncated: true, cutBy: 'time' })
      const nested = '((((a{1,255}){1,255}){1,255}){1,255}){1,255}'
      // Whichever comes first.
      const told = await inside.files.grep(nested, { root: place, cpuMs: 250 }).catch((error: unknown) => ({ error }))
      expect(told).toSatisfy((one: object) =>
        'cutBy' in one ? one.cutBy === 'time' : String(Object.values(one)[0]).includes('Memory exhausted'),
      )
    })

    test('long lines and long files are searched as far as is said, in whole characters', async () => {
      const place = join(root, 'long-lines')
      await mkdir(place)
      await writeFile(join(place, 'line'), `x${'é'.repeat(2_000)}\n`)
      expect((await inside.files.grep('é', { root: place })).items).toEqual([
        { path: join(place, 'line'), line: 1, text: `x${'é'.repeat(999)}` },
      ])
      await writeFile(join(place, 'file'), `${`${'y'.repeat(1_023)}\n`.repeat(10_240)}needle\n`)
      expect(await inside.files.grep('needle', { root: join(place, 'file'), literal: true })).toEqual({
        items: [],
        truncated: true,
        cutBy: 'file',
      })
    })

    test('directories are made, moved, changed and removed', async () => {
      const place = join(root, 'moves')
      await inside.files.mkdir(join(place, 'a/b'), { parents: true })
      await inside.files.mkdir(join(place, 'a/b'), { parents: true })
      await expect(inside.files.mkdir(join(place, 'a/b'))).rejects.toMatchObject({ details: { errno: 'EEXIST' } })
      await inside.files.write(join(place, 'a/b/file'), 'x')
      await inside.files.move(join(place, 'a/b/file'), join(place, 'c/file'), { parents: true })
      await inside.files.write(join(place, 'other'), 'y')
      await expect(inside.files.move(join(place, 'other'), join(place, 'c/file'), { exclusive: true })).rejects.toMatchObject({
        details: { errno: 'EEXIST' },
      })
      await inside.files.chmod(join(place, 'c'), 0o700, { recursive: true })
      expect(await inside.files.stat(join(place, 'c/file'))).toMatchObject({ mode: 0o700 })
      await inside.files.chown(join(place, 'c'), -1, -1, { recursive: true })
      await expect(inside.files.remove(place)).rejects.toMatchObject({ code: 'file_operation_failed' })
      await inside.files.remove(place, { recursive: true })
      await inside.files.remove(place, { force: true })
      await expect(inside.files.remove(place)).rejects.toMatchObject({ details: { errno: 'ENOENT' } })
    })

    test('a recursive watch sees what happens, also in directories made later', async () => {
      const place = join(root, 'watched')
      await mkdir(place)
      const events = await inside.files.watch(place, { recursive: true })
      const seen: WatchEvent[] = []
      const hasSeen = (type: string, path: string): boolean => seen.some((event) => event.type === type && event.path === path)
      await mkdir(join(place, 'new'))
      await writeFile(join(place, 'new/file'), 'x')
      for await (const event of events) {
        seen.push(event)
        if (hasSeen('create', 'new/file')) break
      }
      expect(hasSeen('create', 'new')).toBe(true)
      while (await isWatched(place)) await delay(5)
    })

    test('a watch can be aborted, and one of nothing fails at once', async () => {
      const abort = new AbortController()
      const events = await inside.files.watch(root, { signal: abort.signal })
      abort.abort(new Error('enough'))
      await expect(Array.fromAsync(events)).rejects.toThrow('enough')
      await expect(inside.files.watch(join(root, 'nowhere'))).rejects.toMatchObject({ details: { errno: 'ENOENT' } })
    })

    test('file operations are never listed', async () => {
      await inside.files.stat('/')
      expect((await inside.processes.list()).filter(({ name }) => name === 'stat')).toEqual([])
    })
  })

  describe('ports', () => {
    /** A TCP server inside: answers with everything it got once the client has said its last word. */
    const SERVER = `const server = require('net').createServer({ allowHalfOpen: true }, (socket) => {
      const chunks = []
      socket.on('data', (chunk) => chunks.push(chunk)).on('end', () => socket.end(Buffer.concat(chunks)))
    })
    server.listen(0, '127.0.0.1', () => console.log(server.address().port))`

    test('bytes go both ways, with half-close', async () => {
      const server = await inside.exec({ argv: [process.execPath, '-e', SERVER], cwd: '/', ephemeral: true })
      const port = Number(await until(server.output[Symbol.asyncIterator](), '\n'))
      const content = randomBytes(5_000_000)
      const socket = await inside.connect(port)
      const answer = buffer(socket)
      socket.end(content)
      expect((await answer).equals(content)).toBe(true)
      server.detach()
    })

    /** Says whether its 60 MB went through or came to a stand. */
    const FLOOD = `require('net').createServer((socket) => {
      const size = 60_000_000
      socket.on('error', () => {}).end(Buffer.alloc(size, 'a'), () => console.log('sent'))
      let before = -1
      const timer = setInterval(() => {
        const handle = socket._handle
        if (!handle) return clearInterval(timer)
        if (handle.writeQueueSize === before && before > 0) { console.log('stalled'); clearInterval(timer) }
        before = handle.writeQueueSize
      }, 100)
    }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

    test('a slow reader of a port is back-pressure', async () => {
      const server = await inside.exec({ argv: [process.execPath, '-e', FLOOD], cwd: '/', ephemeral: true })
      const output = server.output[Symbol.asyncIterator]()
      const port = Number(await until(output, '\n'))
      const socket = await inside.connect(port)
      expect(await until(output, '\n')).toBe('stalled\n')
      expect(socket.readableLength).toBeLessThan(1_000_000)
      expect(await buffer(socket)).toHaveLength(60_000_000)
      server.detach()
    })

    test('a port nobody listens on refuses', async () => {
      await expect(inside.connect(1)).rejects.toMatchObject({ code: 'connection_refused', details: { errno: 'ECONNREFUSED' } })
      await expect(inside.connect(70_000)).rejects.toMatchObject({ code: 'invalid_request' })
    })
  })

  test('the stats are numbers that make sense', async () => {
    const stats = await inside.stats()
    expect(stats.pids).toBeGreaterThan(0)
    expect(stats.memoryBytes).toBeGreaterThan(0)
    expect(stats.diskTotalBytes).toBeGreaterThan(stats.diskUsedBytes)
  })

  test('two connections to one guest have one boot id', async () => {
    const other = await another()
    expect(other.bootId).toBe(inside.bootId)
    await other.ping()
  })
})

/** Whether a `watch` applet runs on this path. */
async function isWatched(path: string): Promise<boolean> {
  const commands = await Promise.all(
    (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  )
  return commands.some((command) => command.startsWith(`watch\0${path}\0`))
}

async function* take(execution: Execution, count: number): AsyncGenerator<OutputChunk> {
  let taken = 0
  const iterator = execution.output[Symbol.asyncIterator]()
  while (taken < count) {
    const next = await iterator.next()
    if (next.done) return
    taken += 1
    yield next.value
  }
}

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) {
    if (index % 100 === 0) await Promise.resolve()
    yield Buffer.from(`${index}\n`)
  }
}
