/** Programs that are talked to: input, signals, named processes, terminals. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCuttingProxy } from './contract/cutting-proxy.ts'
import { isSkipped, startServerForTests, why } from './contract/running-server.ts'
import type { ServerForTests } from './contract/running-server.ts'
import type { Session, Terminal } from './index.ts'

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

/** Reads until the screen shows it. */
async function screenUntil(terminal: AsyncIterable<Uint8Array>, wanted: string): Promise<string> {
  let screen = ''
  for await (const bytes of terminal) {
    screen += textOf(bytes)
    if (screen.includes(wanted)) return screen
  }
  throw new Error(`the terminal ended before it showed ${JSON.stringify(wanted)}: ${screen}`)
}

describe.skipIf(isSkipped)(`programs that are talked to${why}`, () => {
  let running: ServerForTests
  let session: Session
  beforeAll(async () => {
    running = await startServerForTests()
    session = await running.client().sessions.getOrCreate({ key: 'talk', waitMs: 10_000 })
  })
  afterAll(() => running.close())

  test('input of any length goes in as a stream, and the program sees its end', async () => {
    const bytes = new Uint8Array(700_000).map((_, index) => index % 256)
    const counted = await session.commands.run('wc -c', { stdin: new Blob([bytes]).stream() })
    expect(counted).toMatchObject({ stdout: '700000\n', exitCode: 0 })
    expect(await session.commands.run('cat', { stdin: 'plain text' })).toMatchObject({ stdout: 'plain text' })
    const once = await session.commands.run('od -An -tx1 | tr -d " \\n"', { stdin: Uint8Array.of(0, 255, 10) })
    expect(once.stdout).toBe('00ff0a')
  })

  test('a link leads to what listens inside, for as long as was asked', async () => {
    const before = Date.now()
    const { url, port, expiresAt } = await session.preview(8000, { ttlSeconds: 60 })
    expect([port, new URL(url).hostname.endsWith('.localhost')]).toEqual([8000, true])
    expect(Date.parse(expiresAt)).toBeGreaterThanOrEqual(before + 60_000)
    expect(Date.parse((await session.preview(8000)).expiresAt)).toBeGreaterThanOrEqual(before + 3_600_000)
    await expect(session.preview(70_000)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('a program that ends without reading its input is no failure', async () => {
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(100_000)) })
    expect(await session.commands.run('head -c 5 | wc -c', { stdin: endless })).toMatchObject({ stdout: '5\n', exitCode: 0 })
  })

  test('one can be talked to line by line, be signalled, and refuses input when it takes none', async () => {
    const cat = await session.commands.start('cat', { interactive: true })
    await cat.write('one\n')
    let echoed = ''
    for await (const event of cat.output()) {
      if (event.type === 'stdout') echoed += event.text
      if (echoed === 'one\n') break
    }
    await cat.write('two\n')
    await cat.closeStdin()
    expect(await cat.wait()).toMatchObject({ stdout: 'one\ntwo\n', exitCode: 0 })
    await expect(cat.write('late')).rejects.toMatchObject({ code: expect.stringMatching(/^(execution_ended|not_interactive)$/) as string })
    const sleeping = await session.commands.start('sleep 60')
    await expect(sleeping.write('x')).rejects.toMatchObject({ code: 'not_interactive' })
    await sleeping.signal('SIGINT', { scope: 'tree' })
    expect(await sleeping.wait()).toMatchObject({ exitCode: null, signal: 'SIGINT' })
  })

  test('a background command is found again, followed from any place, and killed', async () => {
    const started = await session.commands.run('echo begin; sleep 60', { background: true })
    const found = await session.commands.connect(started.id)
    for await (const event of found.output()) {
      if (event.type === 'stdout') break
    }
    expect((await session.commands.list().take(1))[0]).toMatchObject({ id: started.id, status: 'running' })
    expect(await session.commands.kill(started.id)).toMatchObject({ executions: 1, verified: true })
    expect(await started.wait({ after: 'begin'.length })).toMatchObject({ status: 'cancelled', stdout: '\n' })
    expect(await found.get()).toMatchObject({ status: 'cancelled', outputSeq: 6 })
  })

  test('processes keep their name, and go with everything they started', async () => {
    const { processes } = session
    const server = await processes.start('web', 'sleep 60 & echo up; wait', { env: { A: '1' } })
    expect(server).toMatchObject({ name: 'web', status: 'running', sessionId: session.id })
    await expect(processes.start('web', 'true')).rejects.toMatchObject({ code: 'name_taken' })
    for await (const event of server.execution.output()) if (event.type === 'stdout') break
    expect((await processes.list()).map(({ name, status }) => [name, status])).toEqual([['web', 'running']])
    expect(await server.stop({ graceMs: 0 })).toMatchObject({ verified: true })
    expect(await processes.get('web')).toMatchObject({ status: 'cancelled' })
  })

  test('a process that is to run is started again, tells of it, and is over when it is stopped', async () => {
    const { processes } = session
    const restart = { policy: 'on-failure', maxRestarts: 9, backoffMs: 100 } as const
    expect(await processes.start('flaky', 'echo oh dear >&2; exit 1', { restart })).toMatchObject({ restart, restarts: 0, attached: 0 })
    await expect.poll(async () => (await processes.get('flaky')).restarts).toBeGreaterThanOrEqual(2)
    await expect.poll(async () => (await processes.get('flaky')).stderrTail).toBe('oh dear\n')
    await processes.stop('flaky', { graceMs: 0 })
    expect(await processes.get('flaky')).toMatchObject({ nextStartAt: null, restart })
    expect((await processes.start('flaky', 'true', { restart: 'no' })).restart).toBeNull()
  })

  test('an attached process is talked to by lines and by bytes, by several, and its end is told', async () => {
    const talker = await session.processes.start('talker', 'while read -r line; do echo "heard $line"; done; exit 4', { interactive: true })
    const heard: string[] = []
    const watcher = await talker.attach({ mode: 'raw' })
    await using attached = await session.processes.attach('talker')
    await attached.write('one')
    await attached.write('two\n')
    for await (const line of attached) if (heard.push(textOf(line)) === 2) break
    expect(heard).toEqual(['heard one\n', 'heard two\n'])
    expect(await session.processes.get('talker')).toMatchObject({ attached: 2 })
    await attached.closeStdin()
    expect(await attached.wait()).toMatchObject({ exitCode: 4, executionId: talker.executionId })
    let seen = ''
    for await (const bytes of watcher) seen += textOf(bytes)
    expect(seen).toBe('heard one\nheard two\n')
    await expect(session.processes.attach('nobody')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('an attached process goes on byte for byte over connections that break, in whole lines', async () => {
    const proxy = await startCuttingProxy(running.server.url)
    const far = await running.client({ url: proxy.url }).sessions.get(session.id)
    const lines = 400
    const script = `read -r go; i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "línea $i"; [ $((i % 20)) = 0 ] && sleep 0.02 && echo note >&2; done`
    await far.processes.start('counter', script, { interactive: true })
    proxy.cutAfter(() => 2000)
    proxy.cutAll()
    const shown: string[] = []
    const attached = await far.processes.attach('counter', { onData: (bytes) => void shown.push(textOf(bytes)) })
    await attached.write('go')
    expect(await attached.wait()).toMatchObject({ exitCode: 0, status: 'completed' })
    expect(shown).toEqual(Array.from({ length: lines }, (_, index) => `línea ${index + 1}\n`))
    expect(proxy.cuts).toBeGreaterThanOrEqual(2)
    await proxy.close()
  })

  test('a shell answers, its size follows, and its end is told', async () => {
    const terminal = await session.pty.create({ cols: 100, rows: 30, command: 'sh' })
    await terminal.write('stty size\n')
    expect(await screenUntil(terminal, '30 100')).toContain('stty size')
    await terminal.resize({ cols: 120, rows: 40 })
    await terminal.write('stty size; exit 3\n')
    await screenUntil(terminal, '40 120')
    expect(await terminal.wait()).toMatchObject({ exitCode: 3, status: 'completed', executionId: terminal.executionId })
  })

  test('a terminal goes on byte for byte over connections that break', async () => {
    const proxy = await startCuttingProxy(running.server.url)
    const far = await running.client({ url: proxy.url }).sessions.get(session.id)
    // More than the largest message, in which a server sends what it kept while there was no connection.
    proxy.cutAfter(() => 600_000)
    proxy.cutAll()
    const lines = 120_000
    const script = `stty -onlcr; i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "línea $i"; [ $((i % 2000)) = 0 ] && sleep 0.02; done`
    let shown = ''
    const decoder = new TextDecoder()
    const terminal = await far.pty.create({ command: script, onData: (bytes) => void (shown += decoder.decode(bytes, { stream: true })) })
    expect(await terminal.wait()).toMatchObject({ exitCode: 0, status: 'completed' })
    expect(shown).toBe(Array.from({ length: lines }, (_, index) => `línea ${index + 1}\n`).join(''))
    expect(proxy.cuts).toBeGreaterThanOrEqual(2)
    await proxy.close()
  })

  test('one that was left running is come back to where it was', async () => {
    const first = await session.pty.create({ command: 'cat' })
    await first.write('before\n')
    await screenUntil(first, 'before\r\nbefore')
    const place = first.seq
    await first.detach()
    expect(await first.wait()).toBeNull()
    const second = await session.pty.connect(first.executionId, { after: place })
    await second.write('after\n')
    expect(await screenUntil(second, 'after\r\nafter')).not.toContain('before')
    expect(await second.kill()).toMatchObject({ verified: true })
    expect(await second.wait()).toMatchObject({ status: 'cancelled' })
  })

  test('a reader who does not read holds a flood up, and is told what it missed', async () => {
    let missed = 0
    const terminal = await session.pty.create({ command: 'head -c 12000000 /dev/zero | tr "\\0" x', onGap: (bytes) => (missed += bytes) })
    const seen = { bytes: 0 }
    // The program ends while nobody reads.
    await expect.poll(async () => (await (await session.commands.connect(terminal.executionId)).get()).status).toBe('completed')
    expect(terminal.seq - missed).toBeLessThan(5_000_000)
    for await (const bytes of terminal) seen.bytes += bytes.length
    expect(seen.bytes + missed).toBe(12_000_000)
    expect(await terminal.wait()).toMatchObject({ exitCode: 0 })
  })

  test('a signal hangs up with its reason, and a callback that fails is heard of', async () => {
    const leaving = new AbortController()
    const left = await session.pty.create({ command: 'cat', signal: leaving.signal })
    leaving.abort(new Error('enough'))
    await expect(left.wait()).rejects.toThrow('enough')
    await expect(screenUntil(left, 'never')).rejects.toThrow('enough')
    await expect(left.write('x')).rejects.toThrow('enough')
    const failing = await session.pty.create({
      command: 'echo hello; cat',
      onData: () => {
        throw new Error('the screen is broken')
      },
    })
    await expect(failing.wait()).rejects.toThrow('the screen is broken')
    await session.cancelWork()
  })

  test('a refused terminal says why', async () => {
    await expect(session.pty.connect('exe_unknown')).rejects.toMatchObject({ code: 'not_found' })
    const over = await running.client().sessions.getOrCreate({ key: 'over' })
    await over.release()
    await expect(over.pty.create()).rejects.toMatchObject({ code: 'session_closed' })
    await expect(session.pty.create({ cwd: 'relative' })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('letting go of a session ends what is read here, and nothing there', async () => {
    const mine = await running.client().sessions.get(session.id)
    const execution = await mine.commands.start('sleep 60')
    const terminal: Terminal = await mine.pty.create({ command: 'cat' })
    const waiting = execution.wait()
    const events = mine.events({ after: 'now' })[Symbol.asyncIterator]()
    const next = events.next()
    await mine[Symbol.asyncDispose]()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
    expect(await terminal.wait()).toBeNull()
    expect(await next).toMatchObject({ done: true })
    expect(await execution.get()).toMatchObject({ status: 'running' })
    await session.cancelWork()
  })
})
