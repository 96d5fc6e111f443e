/** A call ends with its answer, its time-out, its signal or the connection; a wrong answer never leaves it waiting. */
import { MAXIMUM_MESSAGE_BYTES } from '@holdfast/protocol/box'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../contract/manual-clock.ts'
import { silentLog } from '../log.ts'
import { readAnswer } from './answer.ts'
import { createRpc } from './rpc.ts'

function stage(sending: (message: string) => Promise<void> = async () => {}) {
  const clock = manualClock()
  const sent: string[] = []
  const broken: string[] = []
  const send = (message: string) => {
    sent.push(message)
    return sending(message)
  }
  const rpc = createRpc({ transport: { send }, clock, log: silentLog, firstNumber: 7, onBroken: (reason) => broken.push(reason) })
  const ping = (signal?: AbortSignal) => rpc.call('__ping', {}, { timeoutMs: 15_000, ...(signal === undefined ? {} : { signal }) })
  return { clock, sent, broken, rpc, ping }
}

const success = (number: number | string, data: unknown = {}) =>
  JSON.stringify({ seq_id: number, code: 0, message: 'success', data, chunk_status: 'continue' })

describe('answers find their calls', () => {
  test('in any order, the first of several, with numbers as text', async () => {
    const { rpc, ping } = stage()
    const [one, two] = [ping(), ping()]
    rpc.receive(success('8', { nth: 2 }))
    rpc.receive(success(7, { nth: 1 }))
    rpc.receive(success(7, { nth: 3 }))
    expect([await one, await two]).toEqual([{ nth: 1 }, { nth: 2 }])
  })

  test('and late or unknown ones are ignored', async () => {
    const { rpc, ping, clock, broken } = stage()
    const call = ping()
    clock.pass(15_000)
    await expect(call).rejects.toThrow('__ping was not answered within 15 s')
    rpc.receive(success(7))
    rpc.receive(success(12_345))
    rpc.receive('{"seq_id":12345,"code":"x"}')
    expect(broken).toEqual([])
  })
})

describe('a malformed answer fails its call at once', () => {
  const WRONG = {
    'data is null': '{"seq_id":7,"code":0,"message":"success","data":null}',
    'data is an array': '{"seq_id":7,"code":0,"message":"success","data":[]}',
    'data is missing': '{"seq_id":7,"code":0,"message":"success"}',
    'message is missing': '{"seq_id":7,"code":0,"data":{}}',
    'message is a number': '{"seq_id":7,"code":0,"message":1,"data":{}}',
    'code is text': '{"seq_id":7,"code":"0","message":"success","data":{}}',
    'code is a fraction': '{"seq_id":7,"code":0.5,"message":"success","data":{}}',
    'code is missing': '{"seq_id":7,"message":"success","data":{}}',
    'it is cut off': '{"seq_id":7,"code":0,"message":"suc',
    'it is no JSON': '{"seq_id": 7, "code": 0, "message": NaN, "data": {}}',
  }
  test.each(Object.entries(WRONG))('%s', async (_name, message) => {
    const { rpc, ping, clock, broken } = stage()
    const [call, other] = [ping(), ping()]
    rpc.receive(message)
    await expect(call).rejects.toThrow('malformed answer')
    rpc.receive(success(8))
    await expect(other).resolves.toEqual({})
    expect({ waits: clock.waits, broken }).toEqual({ waits: [], broken: [] })
  })

  test.each(['{"code":0,"message":"success","data":{}}', '{"seq_id":null,"code":1,"message":"","data":{}}', '{"seq_id":1.5,"code":0}'])(
    'and one that names no call ends the connection: %s',
    (message) => {
      const { rpc, broken } = stage()
      rpc.receive(message)
      expect(broken).toEqual(['malformed answer of the Box server: "seq_id" is not a number'])
    },
  )

  test.each(['', 'hello', '[1]', '"text"', 'null', 'DEBUG {"seq_id":7}', '{"action":"__ping","seq_id":7,"data":{}}', "{'a': 1}"])(
    'but noise is ignored: %s',
    async (message) => {
      const { rpc, ping, broken } = stage()
      const call = ping()
      rpc.receive(message)
      rpc.receive(success(7))
      await expect(call).resolves.toEqual({})
      expect(broken).toEqual([])
    },
  )

  test('whatever arrives, reading it does not throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((text) => text.slice(0, -1)),
        ),
        (text) => void readAnswer(text),
      ),
    )
  })
})

describe('a call ends early', () => {
  test('with its signal, and its answer is then ignored', async () => {
    const { rpc, ping, clock } = stage()
    const controller = new AbortController()
    const call = ping(controller.signal)
    controller.abort(new Error('the user left'))
    await expect(call).rejects.toThrow('the user left')
    rpc.receive(success(7))
    expect(clock.waits).toEqual([])
    await expect(ping(controller.signal)).rejects.toThrow('the user left')
  })

  test('with the connection, and so do all later ones', async () => {
    const { rpc, ping, clock } = stage()
    const calls = [ping(), ping()]
    rpc.end('gone')
    for (const call of [...calls, ping()]) await expect(call).rejects.toMatchObject({ boxClass: 'BoxRuntimeUnavailableError' })
    expect(clock.waits).toEqual([])
  })

  test('when it cannot be sent', async () => {
    const { ping, clock } = stage(() => Promise.reject(new Error('EPIPE')))
    await expect(ping()).rejects.toThrow('EPIPE')
    expect(clock.waits).toEqual([])
  })

  test('before it is sent when it is too large, and the others go on', async () => {
    const { rpc, ping, sent } = stage()
    const large = rpc.call('box_write_skill_file', { content: 'x'.repeat(MAXIMUM_MESSAGE_BYTES) }, { timeoutMs: 15_000 })
    await expect(large).rejects.toMatchObject({ boxClass: 'BoxValidationError' })
    expect(sent).toEqual([])
    const call = ping()
    rpc.receive(success(8))
    await expect(call).resolves.toEqual({})
  })
})

test('half a surrogate pair never goes on the wire', () => {
  const { rpc, sent } = stage()
  rpc.call('box_exec', { cmd: 'echo \ud800' }, { timeoutMs: 1 }).catch(() => {})
  expect(sent[0]).toContain('echo \ufffd')
})
