/** A terminal over connections whose every message is in the test's hand. */
import { expect, test } from 'vitest'
import { Holdfast } from './index.ts'
import type { Session } from './index.ts'

/** What stands at the other end of a WebSocket, as far as a terminal uses it. */
class ScriptedSocket extends EventTarget {
  static readonly all: ScriptedSocket[] = []
  readonly url: URL
  readonly protocols: readonly string[]
  readonly sent: unknown[] = []
  readonly bufferedAmount = 0
  binaryType = 'blob'

  constructor(url: string, protocols: readonly string[]) {
    super()
    this.url = new URL(url)
    this.protocols = protocols
    ScriptedSocket.all.push(this)
  }

  send(data: unknown): void {
    this.sent.push(typeof data === 'string' ? JSON.parse(data) : new TextDecoder().decode(data as Uint8Array))
  }

  close(): void {}

  say(message: object): void {
    this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(message) }))
  }

  show(bytes: Uint8Array<ArrayBuffer>): void {
    this.dispatchEvent(new MessageEvent('message', { data: bytes.slice().buffer }))
  }

  started(seq = 0): void {
    this.say({ type: 'started', execution_id: 'exe_1', session: { id: 'ses_1', key: 'k', incarnation: 1, workspace: 'intact' }, seq })
  }

  end(code: number): void {
    this.dispatchEvent(Object.assign(new Event('close'), { code }))
  }
}

const EXIT = { type: 'exit', exit_code: 0, signal: null, status: 'completed', duration_ms: 1 }

async function sessionWithSockets(): Promise<Session> {
  ScriptedSocket.all.length = 0
  const fetch = async () => Response.json({ id: 'ses_1', key: 'k', state: 'idle', held: null, closed_at: null, limits: {}, deadlines: {} })
  const webSocket = ScriptedSocket as unknown as typeof WebSocket
  return new Holdfast({ url: 'https://test/base', apiKey: 'the-key', fetch, webSocket }).sessions.get('ses_1')
}

async function socket(number: number): Promise<ScriptedSocket> {
  await expect.poll(() => ScriptedSocket.all.length, { interval: 1 }).toBeGreaterThanOrEqual(number)
  const found = ScriptedSocket.all[number - 1]
  if (found === undefined) throw new Error('unreachable')
  return found
}

test('the key travels as a subprotocol, never in the address', async () => {
  const opening = (await sessionWithSockets()).pty.create({ cols: 90, rows: 20, command: 'top' })
  const first = await socket(1)
  expect(first.url.href).toBe('wss://test/base/v1/sessions/ses_1/terminal?cols=90&rows=20&command=top')
  expect(first.protocols).toEqual(['holdfast.terminal.v1', 'holdfast.key.the-key'])
  first.started()
  first.say(EXIT)
  expect(await (await opening).wait()).toMatchObject({ exitCode: 0, executionId: 'exe_1' })
})

test('a new connection begins after what was shown and what was told missing, with the size of now', async () => {
  const shown: number[] = []
  const opening = (await sessionWithSockets()).pty.create({ onData: (bytes) => void shown.push(bytes.length) })
  const first = await socket(1)
  first.started()
  const terminal = await opening
  first.show(new Uint8Array(10))
  first.say({ type: 'gap', skipped_bytes: 5 })
  await terminal.resize({ cols: 120, rows: 40 })
  first.end(1006)
  const refused = await socket(2)
  expect(refused.url.search).toBe('?cols=120&rows=40&execution=exe_1&after=15')
  const typed = terminal.write('waits for the connection')
  refused.end(1006)
  const second = await socket(3)
  second.started(15)
  await typed
  second.show(new Uint8Array(3))
  second.say(EXIT)
  await terminal.wait()
  expect(shown).toEqual([10, 3])
  expect(terminal.seq).toBe(18)
  expect([first.sent, second.sent]).toEqual([[{ type: 'resize', cols: 120, rows: 40 }], ['waits for the connection']])
})

test('what comes while nobody reads is asked for again, even after the exit was told', async () => {
  const opening = (await sessionWithSockets()).pty.create()
  const first = await socket(1)
  first.started()
  const terminal = await opening
  const full = 4 * 1024 * 1024
  first.show(new Uint8Array(full))
  first.show(new Uint8Array(7))
  first.say(EXIT)
  expect(first.sent).toEqual([{ type: 'detach' }])
  const reader = terminal[Symbol.asyncIterator]()
  expect((await reader.next()).value).toHaveLength(full)
  const rest = reader.next()
  const second = await socket(2)
  expect(second.url.searchParams.get('after')).toBe(String(full))
  second.started(full)
  second.show(new Uint8Array(7))
  second.say(EXIT)
  expect((await rest).value).toHaveLength(7)
  expect((await reader.next()).done).toBe(true)
})

test('a wish to leave it running is repeated until the server has heard it', async () => {
  const opening = (await sessionWithSockets()).pty.create({ onData: () => undefined })
  const first = await socket(1)
  first.started()
  const terminal = await opening
  const leaving = terminal.detach()
  first.end(1006)
  const second = await socket(2)
  second.started()
  expect(second.sent).toEqual([{ type: 'detach' }])
  second.end(1000)
  await leaving
  expect(await terminal.wait()).toBeNull()
})

test('a server that says that it is over is believed; one that goes away is waited for', async () => {
  const opening = (await sessionWithSockets()).pty.create({ onData: () => undefined })
  const first = await socket(1)
  first.started()
  const terminal = await opening
  first.end(1001)
  const second = await socket(2)
  second.started()
  second.say({ type: 'error', problem: { code: 'unauthorized', title: 'the key was revoked', status: 401, retry: 'after-change' } })
  await expect(terminal.wait()).rejects.toMatchObject({ code: 'unauthorized', status: 401 })
  await expect(terminal.write('x')).rejects.toMatchObject({ code: 'unauthorized' })
})

test('one that never started is not started again', async () => {
  const opening = (await sessionWithSockets()).pty.create()
  const first = await socket(1)
  first.end(1006)
  await expect(opening).rejects.toMatchObject({ code: 'server_unreachable' })
  expect(ScriptedSocket.all).toHaveLength(1)
})
