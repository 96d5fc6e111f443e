/** Proofs of the channel against a scripted guest: what it must bear, and everything a hostile one may try. */
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isHoldfastError } from '@holdfast/protocol'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { encodeControl, encodeDataHeader, FrameDecoder, FrameType, MAX_CONTROL_TO_GUEST_BYTES } from './codec.ts'
import { Fields, Tag } from './fields.ts'
import type { Field } from './fields.ts'
import { connectInside } from './guest-inside.ts'
import type { ConnectOptions } from './guest-inside.ts'
import type { Execution, Inside } from './inside.ts'

const WINDOW_BYTES = 65_536

interface Heard {
  readonly type: number
  readonly stream: number
  readonly fields: Fields
  readonly bytes: Buffer
}

/** The other end: says what it is told to, and hears what the server says. */
class ScriptedGuest {
  readonly duplex: Duplex
  /** Every frame so far, by type. */
  readonly heardTypes: number[] = []
  readonly #heard: Heard[] = []
  #waiting: (() => void) | null = null

  constructor(duplex: Duplex) {
    this.duplex = duplex
    const hear = (type: number, stream: number, fields: Fields, bytes: Buffer): void => {
      this.heardTypes.push(type)
      this.#heard.push({ type, stream, fields, bytes })
      this.#waiting?.()
    }
    const decoder = new FrameDecoder(
      {
        data: (stream, _channel, bytes) => hear(FrameType.DATA, stream, new Fields(Buffer.alloc(0)), bytes),
        control: (type, stream, _channel, payload) => hear(type, stream, new Fields(payload), Buffer.alloc(0)),
      },
      MAX_CONTROL_TO_GUEST_BYTES,
    )
    duplex.on('data', (chunk: Buffer) => decoder.push(chunk))
    duplex.on('error', () => undefined)
  }

  say(...frames: readonly Buffer[]): void {
    this.duplex.write(Buffer.concat(frames))
  }

  /** The next frame of that type; earlier ones of other types are passed over. */
  async hears(type: FrameType): Promise<Heard> {
    for (;;) {
      const next = this.#heard.shift()
      if (next?.type === type) return next
      if (next) continue
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    }
  }
}

const HELLO = encodeControl(FrameType.HELLO, 0, [
  [Tag.VERSION, 1],
  [Tag.BOOT, Buffer.alloc(16, 0xab)],
])
const REQUEST = { argv: ['true'], cwd: '/' }

function started(stream: number, changes: { readonly seq?: number; readonly skipped?: number } = {}): Buffer {
  return encodeControl(FrameType.STARTED, stream, [
    [Tag.ID, 7n],
    [Tag.PID, 42],
    [Tag.SEQ, changes.seq ?? 0],
    [Tag.SKIPPED, changes.skipped ?? 0],
    [Tag.WINDOW, WINDOW_BYTES],
  ])
}

function data(stream: number, content: string | Buffer, channel = 1): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([encodeDataHeader(stream, channel, bytes.length), bytes])
}

function exit(stream: number, seq: number, ...changes: readonly Field[]): Buffer {
  return encodeControl(FrameType.EXIT, stream, [
    ...changes,
    [Tag.STATUS, 0],
    [Tag.CODE, 0],
    [Tag.FLAGS, 0],
    [Tag.SEQ, seq],
    [Tag.SURVIVORS, 0],
    [Tag.USEC, 1_500],
  ])
}

function end(stream: number, errno = 0, message = ''): Buffer {
  return encodeControl(FrameType.END, stream, [
    [Tag.ERRNO, errno],
    [Tag.MESSAGE, message],
  ])
}

async function greeted(options: ConnectOptions = {}): Promise<{ readonly guest: ScriptedGuest; readonly inside: Inside }> {
  const [ours, theirs] = duplexPair()
  const guest = new ScriptedGuest(theirs)
  guest.say(HELLO)
  const inside = await connectInside(ours, { windowBytes: WINDOW_BYTES, ...options })
  onTestFinished(() => inside.close())
  return { guest, inside }
}

/** An execution that has started on stream 1. */
async function running(
  options: ConnectOptions = {},
): Promise<{ readonly guest: ScriptedGuest; readonly inside: Inside; readonly execution: Execution }> {
  const { guest, inside } = await greeted(options)
  const attempt = inside.exec({ ...REQUEST, stdin: 'pipe' })
  await guest.hears(FrameType.EXEC)
  guest.say(started(1))
  return { guest, inside, execution: await attempt }
}

function code(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no error',
    (error: unknown) => (isHoldfastError(error) ? error.code : error),
  )
}

describe('the greeting', () => {
  const greetings: Readonly<Record<string, Buffer>> = {
    'another version': encodeControl(FrameType.HELLO, 0, [
      [Tag.VERSION, 2],
      [Tag.BOOT, Buffer.alloc(16)],
    ]),
    'a short boot id': encodeControl(FrameType.HELLO, 0, [
      [Tag.VERSION, 1],
      [Tag.BOOT, Buffer.alloc(15)],
    ]),
    'no version': encodeControl(FrameType.HELLO, 0, [[Tag.BOOT, Buffer.alloc(16)]]),
    'another frame': encodeControl(FrameType.PONG, 0, [[Tag.TOKEN, 1]]),
    'HELLO on a stream': encodeControl(FrameType.HELLO, 1, [
      [Tag.VERSION, 1],
      [Tag.BOOT, Buffer.alloc(16)],
    ]),
    'data before it': data(1, 'x'),
    'no frame at all': Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
  }
  test.each(Object.keys(greetings))('%s is refused', async (name) => {
    const [ours, theirs] = duplexPair()
    theirs.write(greetings[name])
    expect(await code(connectInside(ours))).toBe('guest_protocol_violated')
    expect(ours.destroyed).toBe(true)
  })

  test('a guest that says nothing is unreachable after the deadline', async () => {
    const [ours] = duplexPair()
    expect(await code(connectInside(ours, { helloTimeoutMs: 5 }))).toBe('guest_unreachable')
    expect(ours.destroyed).toBe(true)
  })

  test('a guest that hangs up is unreachable', async () => {
    const [ours, theirs] = duplexPair()
    theirs.end()
    expect(await code(connectInside(ours))).toBe('guest_unreachable')
  })

  test('an abort ends the greeting and the connection', async () => {
    const [ours] = duplexPair()
    const reason = new Error('never mind')
    expect(await code(connectInside(ours, { signal: AbortSignal.abort(reason) }))).toBe(reason)
  })

  test('the boot id is handed on', async () => {
    const { inside } = await greeted()
    expect(inside.bootId).toBe('ab'.repeat(16))
  })
})

describe('an execution', () => {
  test('output, sequence numbers and exit arrive as the guest sent them', async () => {
    const { guest, execution } = await running()
    guest.say(data(1, 'out'), data(1, 'err', 2), exit(1, 6), end(1))
    const chunks: string[] = []
    const result = await execution.drain(({ channel, bytes, seq }) => void chunks.push(`${channel} ${bytes.toString()} ${seq}`))
    expect(chunks).toEqual(['stdout out 3', 'stderr err 6'])
    expect(result).toEqual({ exitCode: 0, signal: null, timedOut: false, killed: false, survivors: false, durationMs: 1.5 })
  })

  test('a signal, a timeout and survivors are told apart', async () => {
    const { guest, execution } = await running()
    guest.say(exit(1, 0, [Tag.STATUS, 1], [Tag.CODE, 9], [Tag.FLAGS, 3], [Tag.SURVIVORS, 1]), end(1))
    expect(await execution.exit).toMatchObject({ exitCode: null, signal: 'SIGKILL', timedOut: true, killed: true, survivors: true })
  })

  test('several requests of one tick leave as one write', async () => {
    const { guest, inside } = await greeted()
    const chunks: Buffer[] = []
    guest.duplex.on('data', (chunk: Buffer) => chunks.push(chunk))
    const executions = [inside.exec(REQUEST), inside.exec(REQUEST), inside.exec(REQUEST)]
    await guest.hears(FrameType.EXEC)
    guest.say(started(1), started(2), started(3))
    await Promise.all(executions)
    expect(chunks).toHaveLength(1)
  })

  test('a refused start says what the guest said, made fit for print', async () => {
    const { guest, inside } = await greeted()
    const attempt = inside.exec(REQUEST)
    guest.say(end(1, 2, 'cannot run\u001b[31m the\nprogram'))
    await expect(attempt).rejects.toMatchObject({
      code: 'command_not_started',
      message: 'cannot run [31m the program (ENOENT)',
      details: { errno: 'ENOENT' },
    })
  })

  test('an abort before STARTED kills what has started meanwhile', async () => {
    const { guest, inside } = await greeted()
    const abort = new AbortController()
    const attempt = code(inside.exec(REQUEST, abort.signal))
    await guest.hears(FrameType.EXEC)
    abort.abort(new Error('enough'))
    expect(await attempt).toMatchObject({ message: 'enough' })
    guest.say(started(1))
    const kill = await guest.hears(FrameType.KILL)
    expect(kill.fields.requiredBigint(Tag.ID)).toBe(7n)
  })

  test('an abort after STARTED is up to the caller', async () => {
    const { guest, inside } = await greeted()
    const abort = new AbortController()
    const attempt = inside.exec(REQUEST, abort.signal)
    await guest.hears(FrameType.EXEC)
    guest.say(started(1))
    const execution = await attempt
    abort.abort()
    guest.say(exit(1, 0), end(1))
    expect(await execution.exit).toMatchObject({ exitCode: 0 })
  })

  test('leaving the output loop closes the stream, and what crosses on the wire is ignored', async () => {
    const { guest, inside, execution } = await running()
    guest.say(data(1, 'one'), data(1, 'two'))
    for await (const chunk of execution.output) {
      expect(chunk.bytes.toString()).toBe('one')
      break
    }
    await guest.hears(FrameType.CLOSE)
    guest.say(data(1, 'three'), exit(1, 11), end(1))
    const ping = inside.ping()
    const { fields } = await guest.hears(FrameType.PING)
    guest.say(encodeControl(FrameType.PONG, 0, [[Tag.TOKEN, fields.requiredNumber(Tag.TOKEN)]]))
    await ping
  })

  test('a reader that throws leaves the execution and harms no other', async () => {
    const { guest, inside, execution } = await running()
    const other = inside.exec(REQUEST)
    guest.say(data(1, 'x'), started(2))
    const failure = execution.drain(() => {
      throw new Error('reader failed')
    })
    await expect(failure).rejects.toThrow('reader failed')
    await guest.hears(FrameType.CLOSE)
    guest.say(exit(2, 0), end(2))
    expect(await (await other).exit).toMatchObject({ exitCode: 0 })
  })

  test('output that arrived before the connection was lost is still read', async () => {
    const { guest, execution } = await running()
    guest.say(data(1, 'last words'))
    guest.duplex.end()
    const chunks: string[] = []
    expect(await code(execution.drain(({ bytes }) => void chunks.push(bytes.toString())))).toBe('guest_unreachable')
    expect(chunks).toEqual(['last words'])
  })

  test('an exit nobody asked for does not crash the server when contact is lost', async () => {
    const { guest, inside, execution } = await running()
    void execution.exit
    guest.duplex.destroy()
    expect(await inside.closed).toMatchObject({ code: 'guest_unreachable' })
    // A rejection that nobody has taken by now would fail the run.
    await nextTurn()
  })

  test('forgotten ids leave with the next frame', async () => {
    const { guest, inside } = await greeted()
    inside.processes.forget(3n)
    inside.processes.forget(4n)
    void code(inside.processes.list())
    await guest.hears(FrameType.LIST)
    const { fields } = await guest.hears(FrameType.FORGET)
    expect(fields.requiredBigint(Tag.ID)).toBe(3n)
  })
})

describe('flow control', () => {
  test('consumed output is acknowledged in halves of the window', async () => {
    const { guest, execution } = await running()
    const drained = execution.drain(() => undefined)
    guest.say(data(1, Buffer.alloc(20_000)), data(1, Buffer.alloc(20_000)))
    const { fields } = await guest.hears(FrameType.ACK)
    expect(fields.requiredNumber(Tag.SEQ)).toBe(40_000)
    guest.say(exit(1, 40_000), end(1))
    await drained
  })

  test('output that nobody consumes is not acknowledged, and beyond the window ends the channel', async () => {
    const { guest, inside } = await running()
    guest.say(data(1, Buffer.alloc(WINDOW_BYTES)), data(1, 'x'))
    expect(await inside.closed).toMatchObject({ code: 'guest_protocol_violated' })
  })

  test('a slow consumer holds the guest to the window', async () => {
    const { guest, inside, execution } = await running()
    const { promise: taken, resolve: take } = Promise.withResolvers<void>()
    void code(execution.drain(() => taken))
    // The first chunk counts as consumed when it is handed over; everything after it must fit the window.
    guest.say(
      data(1, Buffer.alloc(WINDOW_BYTES / 2)),
      data(1, Buffer.alloc(WINDOW_BYTES / 2)),
      data(1, Buffer.alloc(WINDOW_BYTES / 2)),
      data(1, 'x'),
    )
    expect(await inside.closed).toMatchObject({ code: 'guest_protocol_violated' })
    take()
  })

  test('single bytes of alternating channels come out as they came in', async () => {
    const { guest, execution } = await running()
    guest.say(...Array.from({ length: 2_000 }, (_, index) => data(1, 'x', 1 + (index % 2))), exit(1, 2_000), end(1))
    await execution.exit
    const chunks: string[] = []
    await execution.drain(({ channel, bytes }) => void chunks.push(`${channel} ${bytes.length}`))
    expect(chunks).toHaveLength(2_000)
    expect(chunks.slice(0, 2)).toEqual(['stdout 1', 'stderr 1'])
  })

  test('stdin waits for credit and goes on when it is granted', async () => {
    const { guest, execution } = await running()
    const content = Buffer.alloc(1_200_000, 'a')
    let isWritten = false
    const written = execution.stdin.write(content).then(() => {
      isWritten = true
    })
    let received = 0
    while (received < 1_048_576) received += (await guest.hears(FrameType.DATA)).bytes.length
    expect(received).toBe(1_048_576)
    expect(isWritten).toBe(false)
    guest.say(encodeControl(FrameType.CREDIT, 1, [[Tag.COUNT, 1_048_576]]))
    await written
    while (received < content.length) received += (await guest.hears(FrameType.DATA)).bytes.length
    execution.stdin.end()
    await guest.hears(FrameType.EOF)
    expect(received).toBe(content.length)
  })

  test('a write that waits is refused when the execution ends', async () => {
    const { guest, execution } = await running()
    const write = code(execution.stdin.write(Buffer.alloc(300_000)))
    guest.say(exit(1, 0), end(1))
    expect(await write).toBe('process_unknown')
    expect(await code(execution.stdin.write(Buffer.alloc(1)))).toBe('process_unknown')
  })
})

describe('a port', () => {
  async function connected(): Promise<{ readonly guest: ScriptedGuest; readonly inside: Inside; readonly socket: Duplex }> {
    const { guest, inside } = await greeted()
    const attempt = inside.connect(80)
    await guest.hears(FrameType.CONNECT)
    guest.say(started(1))
    return { guest, inside, socket: await attempt }
  }
  const fin = encodeControl(FrameType.EOF, 1, [], 1)

  test('a reader that throws ends its own connection, and everything else goes on', async () => {
    const { guest, inside, socket } = await connected()
    const ended = new Promise<Error>((resolve) => socket.once('error', resolve))
    socket.on('data', () => {
      throw new Error('a mistake')
    })
    guest.say(data(1, 'hello'))
    expect(await ended).toMatchObject({ code: 'internal', cause: { message: 'a mistake' } })
    await guest.hears(FrameType.CLOSE)
    expect(await Promise.race([inside.closed.then(() => 'closed'), Promise.resolve('open')])).toBe('open')
  })

  test('one that takes no connection is given up, and everything else goes on', async () => {
    const { guest, inside } = await greeted({ answerTimeoutMs: 5 })
    expect(await code(inside.connect(80))).toBe('connection_refused')
    await guest.hears(FrameType.CLOSE)
    expect(await Promise.race([inside.closed.then(() => 'closed'), Promise.resolve('open')])).toBe('open')
  })

  test('half-close goes both ways, and after a clean end nothing cuts off what is still on its way inside', async () => {
    const { guest, inside, socket } = await connected()
    const received: string[] = []
    socket.setEncoding('utf8').on('data', (piece: string) => received.push(piece))
    guest.say(data(1, 'hello'), fin)
    await once(socket, 'end')
    expect(received).toEqual(['hello'])
    socket.end('last words')
    expect((await guest.hears(FrameType.DATA)).bytes.toString()).toBe('last words')
    await guest.hears(FrameType.EOF)
    if (!socket.closed) await once(socket, 'close')
    void code(inside.processes.list())
    await guest.hears(FrameType.LIST)
    expect(guest.heardTypes).not.toContain(FrameType.CLOSE)
    guest.say(end(1), end(2))
  })

  test('destroying it closes the stream', async () => {
    const { guest, socket } = await connected()
    socket.destroy()
    await guest.hears(FrameType.CLOSE)
  })

  test('a reset is an error of the socket', async () => {
    const { guest, socket } = await connected()
    guest.say(end(1, 104, 'the connection was reset'))
    await expect(text(socket)).rejects.toMatchObject({ details: { errno: 'ECONNRESET' } })
  })

  test('a lost channel is an error of the socket, and crashes nobody who does not listen', async () => {
    const { guest, inside, socket } = await connected()
    guest.duplex.destroy()
    await inside.closed
    await nextTurn()
    expect(socket.errored).toMatchObject({ code: 'guest_unreachable' })
  })

  test.each([
    ['data after FIN', [fin, data(1, 'x')]],
    ['FIN twice', [fin, fin]],
    ['EXIT', [exit(1, 0)]],
    ['stderr', [data(1, 'x', 2)]],
    ['STARTED twice', [started(1)]],
  ])('%s ends the channel', async (_name, frames) => {
    const { guest, inside } = await connected()
    guest.say(...frames)
    expect(await inside.closed).toMatchObject({ code: 'guest_protocol_violated' })
  })
})

describe('applets', () => {
  async function answered(operation: (inside: Inside) => Promise<unknown>, ...output: readonly Buffer[]): Promise<unknown> {
    const { guest, inside } = await greeted()
    const attempt = code(operation(inside))
    await guest.hears(FrameType.EXEC)
    guest.say(started(1), ...output)
    return attempt
  }
  const entry = (path: string): string => `f 644 0 0 0 0 0 0 1 root root\0${path}\0\0`

  test('a record above its limit is refused, and only the operation ends', async () => {
    const { guest, inside } = await greeted()
    const list = code(inside.files.list('/'))
    await guest.hears(FrameType.EXEC)
    guest.say(started(1), data(1, 'a'.repeat(10_000)), data(1, 'a'.repeat(10_000)))
    expect(await list).toBe('guest_protocol_violated')
    await guest.hears(FrameType.CLOSE)
    const processes = inside.processes.list()
    await guest.hears(FrameType.LIST)
    guest.say(end(2))
    expect(await processes).toEqual([])
  })

  test('more items than the limit are refused', async () => {
    const output = entry('/a') + entry('/b')
    expect(await answered((inside) => inside.files.list('/', { limit: 1 }), data(1, output))).toBe('guest_protocol_violated')
  })

  test.each(['nonsense\0/a\0\0', 'f 9999 0 0 0 0 0 0 1 root root\0/a\0\0', entry('')])('the entry %j is refused', async (record) => {
    expect(await answered((inside) => inside.files.stat('/a'), data(1, record))).toBe('guest_protocol_violated')
  })

  test('a stat without an entry, and an applet that is killed, are failures', async () => {
    expect(await answered((inside) => inside.files.stat('/a'), exit(1, 0), end(1))).toBe('guest_protocol_violated')
    const killed = exit(1, 0, [Tag.STATUS, 1], [Tag.CODE, 9])
    expect(await answered((inside) => inside.files.mkdir('/a'), killed, end(1))).toBe('file_operation_failed')
  })

  test('a watch that does not begin with ready is refused', async () => {
    expect(await answered((inside) => inside.files.watch('/a'), data(1, 'create\0x\0'))).toBe('guest_protocol_violated')
  })
})

describe('a hostile guest ends its own channel', () => {
  /** Said after an execution has started on stream 1 and a LIST was sent on stream 2. */
  const attacks: Readonly<Record<string, readonly Buffer[]>> = {
    'a second HELLO': [HELLO],
    'an unknown frame type': [Buffer.from('000000001600000001000000', 'hex')],
    'a frame only the server may send': [encodeControl(FrameType.EXEC, 1, [[Tag.ARGV, 'x']])],
    'a stream that was never opened': [started(9)],
    'data on a stream that was never opened': [data(9, 'x')],
    'data on stream 0': [data(0, 'x')],
    'END on stream 0': [end(0)],
    'a second STARTED': [started(1)],
    'data on stdin': [data(1, 'x', 0)],
    'an empty DATA frame': [data(1, '')],
    'data after EXIT': [exit(1, 0), data(1, 'x')],
    'a second EXIT': [exit(1, 0), exit(1, 0)],
    'frames after END': [exit(1, 0), end(1), end(1)],
    'END without EXIT': [end(1)],
    'EOF on an execution': [encodeControl(FrameType.EOF, 1, [], 1)],
    'a REPLY on an execution': [encodeControl(FrameType.REPLY, 1)],
    'EXIT that hides lost output': [data(1, 'abc'), exit(1, 5)],
    'EXIT with a status that means nothing': [exit(1, 0, [Tag.STATUS, 3])],
    'EXIT with signal 200': [exit(1, 0, [Tag.STATUS, 1], [Tag.CODE, 200])],
    'EXIT with code 256': [exit(1, 0, [Tag.CODE, 256])],
    'EXIT without a status': [encodeControl(FrameType.EXIT, 1, [[Tag.SEQ, 0]])],
    'a sequence number beyond 2^53': [exit(1, 0, [Tag.SEQ, 0xffff_ffff_ffff_ffffn])],
    'credit for nothing': [encodeControl(FrameType.CREDIT, 1, [[Tag.COUNT, 1]])],
    'credit of zero': [encodeControl(FrameType.CREDIT, 1, [[Tag.COUNT, 0]])],
    'a PONG without a PING': [encodeControl(FrameType.PONG, 0, [[Tag.TOKEN, 1]])],
    'endless replies': Array.from({ length: 1_025 }, () => listed(2)),
    'DATA as an answer': [data(2, 'x')],
    'STARTED as an answer': [started(2)],
    'a listed execution in an unknown state': [encodeControl(FrameType.REPLY, 2, [[Tag.STATE, 9]])],
    'an answer without an errno': [encodeControl(FrameType.END, 2)],
    'a field that is cut off': [
      Buffer.concat([encodeDataHeader(1, 0, 0).fill(FrameType.REPLY, 4, 5).fill(3, 0, 1).fill(2, 8, 9), Buffer.from([1, 2, 3])]),
    ],
    'an oversized frame': [encodeControl(FrameType.REPLY, 2, [[Tag.NAME, Buffer.alloc(65_536)]])],
  }

  function listed(stream: number): Buffer {
    return encodeControl(FrameType.REPLY, stream, [
      [Tag.ID, 1n],
      [Tag.PID, 1],
      [Tag.STATE, 0],
      [Tag.SEQ, 0],
      [Tag.USEC, 0],
    ])
  }

  test.each(Object.keys(attacks))('%s', async (name) => {
    const { guest, inside, execution } = await running()
    const { guest: otherGuest, inside: otherInside } = await greeted()
    const list = code(inside.processes.list())
    await guest.hears(FrameType.LIST)
    guest.say(...(attacks[name] ?? []))
    expect(await inside.closed).toMatchObject({ code: 'guest_protocol_violated' })
    expect(await list).toBe('guest_protocol_violated')
    expect(await code(inside.exec(REQUEST))).toBe('guest_protocol_violated')
    expect(await code(inside.ping())).toBe('guest_protocol_violated')
    await code(execution.drain(() => undefined))
    const neighbour = otherInside.processes.list()
    await otherGuest.hears(FrameType.LIST)
    otherGuest.say(end(1))
    expect(await neighbour).toEqual([])
  })

  test('output before STARTED', async () => {
    const { guest, inside } = await greeted()
    const attempt = code(inside.exec(REQUEST))
    guest.say(data(1, 'x'))
    expect(await attempt).toBe('guest_protocol_violated')
  })

  test('STARTED that hides skipped bytes', async () => {
    const { guest, inside } = await greeted()
    const attempt = code(inside.processes.attach({ id: 7n }, { after: 10 }))
    guest.say(started(1, { seq: 20, skipped: 5 }))
    expect(await attempt).toBe('guest_protocol_violated')
  })

  test('END that never follows EXIT', async () => {
    const { guest, inside, execution } = await running({ answerTimeoutMs: 10 })
    guest.say(exit(1, 0))
    expect(await execution.exit).toMatchObject({ exitCode: 0 })
    expect(await inside.closed).toMatchObject({ code: 'guest_protocol_violated' })
  })

  test('a flood on a stream that we closed is not endless', async () => {
    const { guest, inside, execution } = await running()
    execution.detach()
    await guest.hears(FrameType.CLOSE)
    const flood = data(1, Buffer.alloc(60_000))
    guest.say(flood, flood)
    guest.say(flood)
    expect(await inside.closed).toMatchObject({ code: 'guest_protocol_violated' })
  })

  test('any bytes after the greeting end in a typed error or in nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), async (chunks) => {
        const [ours, theirs] = duplexPair()
        theirs.write(HELLO)
        const inside = await connectInside(ours)
        const attempt = code(inside.exec(REQUEST))
        for (const chunk of chunks) theirs.write(chunk)
        theirs.end()
        expect(['guest_protocol_violated', 'guest_unreachable']).toContain(await attempt)
        expect(isHoldfastError(await inside.closed)).toBe(true)
      }),
      { numRuns: 100 },
    )
  })
})

describe('a dead guest', () => {
  test('a heartbeat without an answer ends the channel', async () => {
    const { inside, execution } = await running({ heartbeat: { intervalMs: 1, timeoutMs: 5 } })
    expect(await inside.closed).toMatchObject({ code: 'guest_unreachable' })
    expect(await code(execution.exit)).toBe('guest_unreachable')
  })

  test('a heartbeat with answers goes on', async () => {
    const { guest, inside } = await greeted({ heartbeat: { intervalMs: 1, timeoutMs: 10_000 } })
    for (let beat = 0; beat < 3; beat += 1) {
      const { fields } = await guest.hears(FrameType.PING)
      guest.say(encodeControl(FrameType.PONG, 0, [[Tag.TOKEN, fields.requiredNumber(Tag.TOKEN)]]))
    }
    inside.close()
    expect(await inside.closed).toMatchObject({ message: 'the connection to the guest was closed by the server' })
  })

  test('an exec that is never answered ends the channel', async () => {
    const { inside } = await greeted({ answerTimeoutMs: 5 })
    expect(await code(inside.exec(REQUEST))).toBe('guest_unreachable')
  })

  test('closing twice is fine and rejects what waits', async () => {
    const { inside } = await greeted()
    const attempt = code(inside.exec(REQUEST))
    const ping = code(inside.ping())
    inside.close()
    inside.close()
    expect(await attempt).toBe('guest_unreachable')
    expect(await ping).toBe('guest_unreachable')
  })
})
