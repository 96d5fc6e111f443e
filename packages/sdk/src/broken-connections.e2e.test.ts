/** What holds when connections break at random points: nothing lost, nothing twice, every POST done once. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { seededRandom, startCuttingProxy } from './contract/cutting-proxy.ts'
import type { CutAfter, CuttingProxy } from './contract/cutting-proxy.ts'
import { isSkipped, startServerForTests, why } from './contract/running-server.ts'
import type { ServerForTests } from './contract/running-server.ts'
import type { Holdfast, Session } from './index.ts'
import { promised } from './promised.ts'

const SEED = Math.trunc(Math.random() * 2 ** 31)

describe.skipIf(isSkipped)(`over connections that break${why} (seed ${SEED})`, () => {
  let running: ServerForTests
  let proxy: CuttingProxy
  let holdfast: Holdfast
  const random = seededRandom(SEED)
  const between = (low: number, high: number) => low + Math.trunc(random() * (high - low))
  const direct = async (key: string) => running.client().sessions.getOrCreate({ key, waitMs: 10_000 })
  /** Now, and from now on. */
  function cut(rule: CutAfter): void {
    proxy.cutAfter(rule)
    proxy.cutAll()
  }
  /** In the middle of an answer, or between two; the next connection holds for an answer at least. */
  const often: CutAfter = (connection) => (connection % 2 === 0 ? between(0, 1000) : between(3000, 6000))
  /** The same session, seen through the proxy. */
  const through = async (session: Session) => holdfast.sessions.get(session.id)

  beforeAll(async () => {
    running = await startServerForTests()
    proxy = await startCuttingProxy(running.server.url)
    holdfast = running.client({ url: proxy.url })
  })
  afterEach(() => proxy.cutAfter(() => Infinity))
  afterAll(async () => {
    await proxy.close()
    await running.close()
  })

  test('a watched command’s output is whole and in order, on both streams', async () => {
    const session = await through(await direct('output'))
    const cutsBefore = proxy.cuts
    cut(() => between(300, 6000))
    const lines = 1500
    const script = `i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "líne $i"; echo "érr $i" >&2; [ $((i % 50)) = 0 ] && sleep 0.02; done; exit 7`
    let heard = ''
    const result = await session.commands.run(script, { onStdout: (text) => void (heard += text), timeoutMs: 60_000 })
    const expected = (word: string) => Array.from({ length: lines }, (_, index) => `${word} ${index + 1}\n`).join('')
    expect(result).toMatchObject({ exitCode: 7, status: 'completed', stdoutTruncated: false, stderrTruncated: false })
    expect(heard).toBe(expected('líne'))
    expect(result.stdout).toBe(heard)
    expect(result.stderr).toBe(expected('érr'))
    expect(proxy.cuts - cutsBefore).toBeGreaterThan(10)
  })

  test('a callback that is slower than the program gets every byte, and nothing counts as cut that was not', async () => {
    const session = await through(await direct('flood'))
    const bytes = 48 * 2 ** 20
    proxy.cutAfter((connection) => (connection % 7 === 6 ? between(0, 200_000) : Infinity))
    let heard = 0
    let next = 0
    const onStdout = async (text: string) => {
      // The program would be far ahead of a reader who comes back to the event loop for every piece.
      await new Promise((resolve) => setImmediate(resolve))
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) next += 1
      heard += text.length
    }
    const result = await session.commands.run(`yes 1234567 | head -c ${bytes}`, { onStdout })
    expect({ heard, next }).toEqual({ heard: bytes, next: bytes / 8 })
    expect(result).toMatchObject({ exitCode: 0, stdoutTruncated: true, stderrTruncated: false, stderr: '' })
  })

  test('what is started is started once, however often the answer is lost', async () => {
    const session = await direct('once')
    const far = await through(session)
    cut(often)
    const count = 25
    const executions = []
    for (let index = 0; index < count; index += 1) executions.push(await far.commands.start(`echo ${index} >> log`))
    proxy.cutAfter(() => Infinity)
    for (const execution of executions) expect(await execution.wait()).toMatchObject({ exitCode: 0 })
    const { stdout } = await session.commands.run('sort -n log')
    expect(stdout).toBe(Array.from({ length: count }, (_, index) => `${index}\n`).join(''))
    expect(await session.commands.list().take()).toHaveLength(count + 1)
  })

  test('a plain run happens at most once, and its result says whether it was cut short', async () => {
    const session = await direct('plain')
    const far = await through(session)
    cut(often)
    const completed: number[] = []
    for (let index = 0; index < 15; index += 1) {
      const { status } = await far.commands.run(`echo ${index} >> log`)
      if (status === 'completed') completed.push(index)
    }
    proxy.cutAfter(() => Infinity)
    const done = (await session.commands.run('cat log')).stdout.trim().split('\n').map(Number)
    expect(new Set(done).size).toBe(done.length)
    expect(done).toEqual(expect.arrayContaining(completed))
    expect(completed.length).toBeGreaterThan(0)
  })

  test('events come without gaps and without doubles', async () => {
    const session = await direct('events')
    const far = await through(session)
    cut(() => between(200, 3000))
    const seen: number[] = []
    const types: string[] = []
    const leaving = new AbortController()
    const reading = (async () => {
      for await (const event of far.events({ signal: leaving.signal })) {
        seen.push(event.seq)
        types.push(event.type)
        if (event.type === 'session.updated') return
      }
    })()
    for (let index = 0; index < 12; index += 1) await session.commands.run('true')
    await session.update({ labels: { last: 'one' } })
    await reading
    expect(seen).toEqual(seen.map((_, index) => index + 1))
    expect(types.filter((type) => type === 'execution.ended')).toHaveLength(12)
  })

  test('getting the same session from many sides while answers are lost makes one', async () => {
    cut(often)
    const sessions = await Promise.all(Array.from({ length: 8 }, () => holdfast.sessions.getOrCreate({ key: 'shared' })))
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(1)
    proxy.cutAfter(() => Infinity)
    expect(await running.client().sessions.list({ key: 'shared' }).take()).toHaveLength(1)
  })

  test('a watched command, a terminal and events go on over a restart of the server', async () => {
    const session = await running.client().sessions.getOrCreate({ key: 'restart', waitMs: 10_000 })
    const lines = 200
    const script = `stty -onlcr 2>/dev/null; i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "line $i"; sleep 0.02; done`
    const expected = Array.from({ length: lines }, (_, index) => `line ${index + 1}\n`).join('')
    const begun = promised<void>()
    const watched = session.commands.run(script, { timeoutMs: 60_000, onStdout: () => begun.resolve() })
    let screen = ''
    const terminal = await session.pty.create({ command: script, onData: (bytes) => void (screen += new TextDecoder().decode(bytes)) })
    const seqs: number[] = []
    const reading = (async () => {
      for await (const { seq, type } of session.events()) {
        seqs.push(seq)
        if (type === 'session.updated') return
      }
    })()
    await begun.promise
    await running.restart()
    expect(await watched).toMatchObject({ stdout: expected, exitCode: 0, stdoutTruncated: false })
    expect(await terminal.wait()).toMatchObject({ exitCode: 0 })
    expect(screen).toBe(expected)
    await session.update({ labels: { a: 'b' } })
    await reading
    expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  })
})
