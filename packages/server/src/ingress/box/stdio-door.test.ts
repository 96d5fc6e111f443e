/** The Box protocol on pipes: whole messages both ways, and an end that ends what was under way. */
import { PassThrough, Writable } from 'node:stream'
import { stdioLines, stdioReader } from '@holdfast/protocol/box'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { CONTEXT, INSTANCE, openBoxLaboratory } from './contract/box-laboratory.ts'
import type { BoxLaboratory } from './contract/box-laboratory.ts'
import { RESULT } from './contract/scripted-runtime.ts'
import type { BoxRuntime } from './runtime.ts'
import type { BoxSettings } from './settings.ts'

const opened: BoxLaboratory[] = []
afterEach(async () => {
  for (const laboratory of opened.splice(0)) await laboratory.close()
})

async function open(script: Partial<BoxRuntime> = {}, settings: Partial<BoxSettings> = { instance: INSTANCE }) {
  const laboratory = await openBoxLaboratory(script, settings)
  opened.push(laboratory)
  const input = new PassThrough()
  const answers = new Map<number, unknown>()
  const reader = stdioReader()
  let longest = 0
  const take = (bytes: Buffer) => {
    for (const line of bytes.toString('latin1').split('\n')) longest = Math.max(longest, line.length)
    for (const message of reader.push(bytes)) {
      const frame = JSON.parse(message) as { seq_id: number }
      answers.set(frame.seq_id, frame)
    }
  }
  // Slow, so that answers meet.
  const output = new Writable({
    highWaterMark: 1,
    write(bytes: Buffer, _encoding, done) {
      take(bytes)
      setImmediate(done)
    },
  })
  const over = laboratory.door.serveStdio(input, output)
  const frameOf = (id: number, action: string, data: object = {}, context: object | null = CONTEXT) =>
    JSON.stringify({ seq_id: id, action, data, ...(context === null ? {} : { context }) })
  const say = (message: string) => {
    for (const line of stdioLines(message)) input.write(line)
  }
  const answered = async (id: number) => {
    await expect.poll(() => answers.get(id), { interval: 2 }).toBeDefined()
    return answers.get(id)
  }
  return { ...laboratory, input, output, over, frameOf, say, answered, longest: () => longest }
}
const spec = (cmd: string) => ({ session_id: 's1', cmd })

describe('a client on pipes', () => {
  test('is the configured instance, without any handshake', async () => {
    const { say, answered, frameOf } = await open()
    say(frameOf(1, '__ping', {}, null))
    expect(await answered(1)).toEqual({ seq_id: 1, code: 0, message: 'success', data: {}, chunk_status: 'continue' })
    say(frameOf(2, 'box_status'))
    expect(await answered(2)).toMatchObject({ code: 0 })
    say(frameOf(3, 'box_status', {}, { ...CONTEXT, instance_uuid: 'other' }))
    expect(await answered(3)).toMatchObject({ message: expect.stringMatching(/^PermissionError: /) as string })
  })

  test('is one of the 0.4 generation where no instance is configured, and must not have a token then', async () => {
    const { say, answered, frameOf } = await open({}, {})
    say(frameOf(1, 'box_exec', spec('x'), null))
    expect(await answered(1)).toMatchObject({ code: 0, data: RESULT })
    const guarded = await openBoxLaboratory({}, { token: 't'.repeat(32) })
    opened.push(guarded)
    await expect(guarded.door.serveStdio(new PassThrough(), new PassThrough())).rejects.toMatchObject({ code: 'config_invalid' })
  })

  test('gets long answers whole and in short lines, also when many come at once', async () => {
    const texts = ['漢😀'.repeat(20_000), '"\\'.repeat(20_000), '\u0001'.repeat(20_000), 'x'.repeat(15_000)]
    const { say, answered, frameOf, longest } = await open({
      exec: async (_tenant, { cmd }) => ({ ...RESULT, stdout: texts[Number(cmd)] ?? '' }),
    })
    const ids = Array.from({ length: 16 }, (_none, index) => index)
    for (const id of ids) say(frameOf(id, 'box_exec', spec(`${id % texts.length}`)))
    for (const id of ids) expect(await answered(id)).toMatchObject({ data: { stdout: texts[id % texts.length] } })
    expect(longest()).toBeLessThan(65_535)
  })

  test('may send long requests, and noise', async () => {
    const { say, answered, frameOf, input, runtime } = await open()
    const env = { A: '漢"\\😀'.repeat(50_000) }
    input.write('starting up...\n[1]\n{broken}\n{"type":"chunk_end"}\n')
    say(frameOf(1, 'box_exec', { ...spec('x'), env }))
    expect(await answered(1)).toMatchObject({ code: 0 })
    expect(runtime.asked.at(-1)?.about).toMatchObject({ env })
  })

  test('is understood whatever the cuts between its bytes', async () => {
    const { answered, frameOf, input, runtime } = await open()
    const env = { A: '漢😀'.repeat(3000) }
    let id = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(30_000), { maxLength: 8 }), async (cuts) => {
        id += 1
        const bytes = Buffer.from([...stdioLines(frameOf(id, 'box_exec', { ...spec('x'), env }))].join(''))
        const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].toSorted((one, other) => one - other)
        for (const [index, end] of ends.entries()) input.write(bytes.subarray(ends[index - 1] ?? 0, end))
        expect(await answered(id)).toMatchObject({ code: 0 })
        expect(runtime.asked.at(-1)?.about).toMatchObject({ env })
      }),
      { numRuns: 30 },
    )
  })
})

describe('the end', () => {
  const endless = () => {
    const signals: AbortSignal[] = []
    const exec: BoxRuntime['exec'] = async (_tenant, _spec, signal) => {
      signals.push(signal)
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    }
    return { exec, signals }
  }

  test.each([
    ['of its input', ({ input }: { input: PassThrough }) => void input.end()],
    ['of its output', ({ output }: { output: Writable }) => void output.destroy(new Error('EPIPE'))],
    ['of the framing', ({ input }: { input: PassThrough }) => void input.write('x'.repeat(70_000))],
    ['of a message before it is whole', ({ input }: { input: PassThrough }) => void input.end('{"type":"chunk_start","total_size":9}\n')],
  ])('%s cancels what is under way, and ends no session', async (_name, end) => {
    const { exec, signals } = endless()
    const client = await open({ exec })
    client.say(client.frameOf(1, 'box_exec', spec('x')))
    await expect.poll(() => signals).toHaveLength(1)
    end(client)
    await client.over
    expect(signals[0]?.aborted).toBe(true)
    expect(client.runtime.asked.map(({ method }) => method)).toEqual(['dropOtherGenerations'])
  })

  test('of the server ends the conversation too', async () => {
    const { exec, signals } = endless()
    const { say, frameOf, door, over } = await open({ exec })
    say(frameOf(1, 'box_exec', spec('x')))
    await expect.poll(() => signals).toHaveLength(1)
    await door.close()
    await over
    expect(signals[0]?.aborted).toBe(true)
  })
})

test('a client that takes nothing holds up nobody but itself', async () => {
  const { dial, door } = await open({ exec: async () => ({ ...RESULT, stdout: 'x'.repeat(1_000_000) }) })
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 1 })]
  const over = door.serveStdio(input, output)
  for (let id = 0; id < 8; id += 1)
    input.write(`${JSON.stringify({ seq_id: id, action: 'box_exec', data: spec('x'), context: CONTEXT })}\n`)
  await expect.poll(() => output.writableNeedDrain).toBe(true)
  expect(output.writableLength + output.readableLength).toBeLessThan(100_000)
  expect(await (await dial()).ask('__ping')).toMatchObject({ code: 0 })
  input.end()
  await over
})
