/** `exec` as scripts and people use it: streams, stdin as it comes, exit codes, Ctrl-C, and what is left running. */
import { once } from 'node:events'
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { onBubblewrap, PATIENCE_MS } from './contract/on-bubblewrap.ts'

/** For what happens soon after something else ended. */
const PATIENCE = { timeout: PATIENCE_MS }
const CHAT = ['--scope', 'chat', '--var', 'launcher_type=group', '--var', 'launcher_id=123456']

onBubblewrap('holdfast exec', (stage) => {
  const exec = (args: readonly string[], input?: string | Uint8Array) => stage().server.holdfast(['exec', ...args], input)
  const running = async (key: string) => (await stage().server.holdfast(['ps', key, '-q'])).stdout

  test('a chat finds its files again, and another chat does not', async () => {
    expect(await exec([...CHAT, '-c', 'echo hello > note; cat note'])).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' })
    expect(await exec([...CHAT, '--', 'cat', 'note'])).toMatchObject({ code: 0, stdout: 'hello\n' })
    // The key that `sessions ls` shows means the same session, and so does its id.
    expect(await exec(['-s', 'group_123456', '--', 'cat', 'note'])).toMatchObject({ code: 0, stdout: 'hello\n' })
    const [id = ''] = (await stage().server.holdfast(['sessions', 'ls', '-q', '--key', 'group_123456'])).stdout.split('\n')
    expect(await exec(['-s', id, '--', 'cat', 'note'])).toMatchObject({ code: 0, stdout: 'hello\n' })
    expect((await exec(['--scope', 'chat', '--var', 'launcher_type=group', '--var', 'launcher_id=7', '--', 'cat', 'note'])).code).toBe(1)
  })

  test('both streams come apart, with environment and directory', async () => {
    const ran = await exec(['-s', 'streams', '--env', 'WORD=a=b', '--workdir', '/tmp', '-c', 'echo "$WORD"; pwd; echo oops >&2; exit 7'])
    expect(ran).toMatchObject({ code: 7, stdout: 'a=b\n/tmp\n', stderr: 'oops\n' })
  })

  test.each([
    [['-c', 'kill -9 $$'], 137, /^$/],
    [['--timeout', '0.2', '--', 'sleep', '60'], 124, /^$/],
    [['--', 'no-such-program'], 127, /no-such-program/],
    [['--', '/tmp'], 126, /\/tmp/],
    [['--', 'true', '--unknown-flag'], 0, /^$/],
    [['--colour', '--', 'true'], 125, /unknown option '--colour'/],
    [[], 125, /give either a program after -- or a command line/],
    [['--timeout', 'soon', '--', 'true'], 125, /--timeout <seconds>' argument 'soon' is invalid/],
    [['--name', 'web', '--', 'true'], 125, /--name goes with --detach/],
    [['-d', '--restart', 'always', '--', 'true'], 125, /--restart goes with --name/],
    [['-d', '--name', 'web', '--restart-pause', '2s', '--', 'true'], 125, /--restart-pause goes with --restart/],
    [['--scope', 'chat', '--', 'true'], 125, /name the session once/],
    [['--url', 'http://127.0.0.1:9', '--', 'true'], 125, /cannot reach the server at http:\/\/127\.0\.0\.1:9/],
  ])('%j ends with %d', async (args, code, sentence) => {
    const ran = await exec(['-s', 'codes', ...args])
    expect(ran.code).toBe(code)
    expect(ran.stdout).toBe('')
    expect(ran.stderr).toMatch(sentence)
  })

  test('a large output is complete, and a reader who has seen enough ends the command', async () => {
    const { bytes } = await exec(['-s', 'large', '--', 'seq', '1', '500000'])
    expect(bytes.length).toBe(3_388_895)
    expect(bytes.toString('latin1').endsWith('499999\n500000\n')).toBe(true)

    const child = stage().server.start(['exec', '-s', 'large', '--', 'yes'])
    child.stdin?.end()
    await once(child.stdout ?? child, 'data')
    child.stdout?.destroy()
    expect(await once(child, 'exit')).toEqual([141, null])
    await expect.poll(() => running('large'), PATIENCE).toBe('')
  })

  test('output is passed byte for byte, however much and however fast, also while stdin is passed', async () => {
    expect((await exec(['-s', 'bytes', '-c', String.raw`printf 'a\377b'; printf '\200' >&2`])).bytes.toString('latin1')).toBe('a\xFFb')
    const child = stage().server.start(['exec', '-s', 'bytes', '--', 'cat'])
    const piece = Buffer.from(Array.from({ length: 65_536 }, (_, index) => (index * 7) % 256))
    const sent = createHash('md5')
    const got = createHash('md5')
    const send = async () => {
      for (let times = 0; times < 200; times += 1) {
        sent.update(piece)
        if (child.stdin?.write(piece) === false) await once(child.stdin, 'drain')
      }
      child.stdin?.end()
    }
    const exited = once(child, 'exit')
    await Promise.all([send(), (async () => child.stdout?.forEach((bytes: Buffer) => void got.update(bytes)))()])
    expect(await exited).toEqual([0, null])
    expect(got.digest('hex')).toBe(sent.digest('hex'))
  })

  test('stdin is passed byte for byte, whether short or long', async () => {
    expect(await exec(['-s', 'input', '--', 'cat'], 'short\n')).toMatchObject({ code: 0, stdout: 'short\n' })
    const long = Buffer.alloc(3_000_000, Buffer.from(Array.from({ length: 251 }, (_, byte) => byte)))
    const sum = createHash('md5').update(long).digest('hex')
    expect(await exec(['-s', 'input', '--', 'md5sum'], long)).toMatchObject({ code: 0, stdout: `${sum}  -\n` })
    expect(await exec(['-s', 'input', '--no-stdin', '--', 'cat'], 'unread')).toMatchObject({ code: 0, stdout: '' })
  })

  test('stdin that goes on is passed as it comes, and what it answers is seen at once', async () => {
    const child = stage().server.start([
      'exec',
      '-s',
      'endless',
      '-c',
      'while read word; do echo "got $word"; [ "$word" = stop ] && exit 3; done',
    ])
    const answers = child.stdout?.setEncoding('utf8')[Symbol.asyncIterator]()
    for (const word of ['one', 'two', 'stop']) {
      child.stdin?.write(`${word}\n`)
      expect((await answers?.next())?.value).toBe(`got ${word}\n`)
    }
    // It is still open, and the end of the command is not kept waiting for it.
    expect(await once(child, 'exit')).toEqual([3, null])
  })

  test('a command that does not read holds its input up, and costs no memory', async () => {
    const child = stage().server.start(['exec', '-s', 'unread', '-c', 'echo ready; sleep 3'])
    child.stdin?.on('error', () => undefined)
    const piece = Buffer.alloc(262_144)
    let accepted = 0
    const feed = () => {
      while (child.stdin?.write(piece) === true) accepted += piece.length
      accepted += piece.length
    }
    child.stdin?.on('drain', feed)
    feed()
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(accepted).toBeLessThan(16 * 1024 * 1024)
  })

  test('Ctrl-C kills the command inside, with or without stdin', async () => {
    for (const flags of [['--no-stdin'], ['-i']]) {
      const child = stage().server.start(['exec', '-s', 'stopped', ...flags, '-c', 'trap "" INT; echo ready; sleep 600; echo not reached'])
      await once(child.stdout ?? child, 'data')
      child.kill('SIGINT')
      expect(await once(child, 'exit')).toEqual([130, null])
      expect(await running('stopped')).toBe('')
    }
  })

  test('--detach leaves it running: ps, logs, attach and kill find it', async () => {
    const { server } = stage()
    const started = await exec(['-s', 'left', '--detach', '-c', 'echo begun; sleep 600'])
    const id = started.stdout.trim()
    expect(id).toMatch(/^exe_\w+$/)
    expect(await running('left')).toBe(`${id}\n`)
    await expect.poll(async () => (await server.holdfast(['logs', 'left', id])).stdout, PATIENCE).toBe('begun\n')
    const following = server.start(['logs', '-f', 'left', id])
    const exited = once(following, 'exit')
    await once(following.stdout ?? following, 'data')
    expect(await server.holdfast(['kill', 'left', id, '-q'])).toMatchObject({ code: 0, stdout: `${id}\n` })
    expect(await exited).toEqual([0, null])
    expect(await running('left')).toBe('')
    expect((await server.holdfast(['ps', '-a', 'left'])).stdout).toMatch(/cancelled/)
  })

  test('a named process can be fed, signalled and stopped by its name', async () => {
    const { server } = stage()
    const script = 'trap "echo hung up" HUP; echo up; while :; do read word && echo "got $word"; done'
    const start = ['-s', 'named', '--detach', '--interactive', '--name', 'console']
    expect(await exec([...start, '-c', script])).toMatchObject({ code: 0 })
    expect(await exec([...start, '--', 'true'])).toMatchObject({ code: 125, stderr: expect.stringContaining('console') })
    expect(JSON.parse((await server.holdfast(['ps', 'named', '-o', 'json'])).stdout)).toMatchObject({ items: [{ name: 'console' }] })

    const attached = server.start(['attach', 'named', 'console'])
    const answers = attached.stdout?.setEncoding('utf8')[Symbol.asyncIterator]()
    expect((await answers?.next())?.value).toBe('up\n')
    attached.stdin?.write('one\n')
    expect((await answers?.next())?.value).toBe('got one\n')
    expect((await server.holdfast(['kill', 'named', 'console', '--signal', 'SIGHUP'])).code).toBe(0)
    expect((await answers?.next())?.value).toBe('hung up\n')
    attached.kill('SIGINT')
    expect(await once(attached, 'exit')).toEqual([130, null])

    expect(await running('named')).not.toBe('')
    expect((await server.holdfast(['kill', 'named', 'console'])).code).toBe(0)
    expect(await server.holdfast(['attach', 'named', 'console'])).toMatchObject({ stdout: expect.stringContaining('got one\n') })
  })

  test('a process that is to run is started again, followed through its restarts, listed with them, and over when it is killed', async () => {
    const { server } = stage()
    const start = ['-s', 'kept', '--detach', '--name', 'flaky', '--restart', 'on-failure:9', '--restart-pause', '1s']
    expect(await exec([...start, '-c', 'echo "try $$"; exit 1'])).toMatchObject({ code: 0 })
    const following = server.start(['logs', '-f', 'kept', 'flaky'])
    const exited = once(following, 'exit')
    let printed = ''
    for await (const text of following.stdout?.setEncoding('utf8') ?? []) {
      printed += text
      if (/^try \d+\ntry \d+\n$/.test(printed)) break
    }
    following.kill('SIGINT')
    await exited
    const listed = JSON.parse((await server.holdfast(['ps', '-p', 'kept', '-o', 'json'])).stdout) as { items: { restarts: number }[] }
    expect(listed).toMatchObject({ items: [{ name: 'flaky', restart: { policy: 'on-failure', max_restarts: 9, backoff_ms: 1000 } }] })
    expect(listed.items[0]?.restarts).toBeGreaterThanOrEqual(1)
    expect((await server.holdfast(['ps', '-p', 'kept'])).stdout).toMatch(/^NAME +STATUS +RESTART +RESTARTS +NEXT +ATTACHED/)
    expect((await server.holdfast(['kill', 'kept', 'flaky'])).code).toBe(0)
    expect((await server.holdfast(['ps', '-p', 'kept', '-q'])).stdout).toBe('')
    expect((await server.holdfast(['ps', '-p', '-a', 'kept', '-q'])).stdout).toBe('flaky\n')
  })
})
