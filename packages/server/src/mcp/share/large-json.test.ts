/** Messages that are too large to be parsed: what decides about them is read, all else is passed on as it came. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { jsonLog } from '../../telemetry/log.ts'
import { scanInTurns } from './json-scan.ts'
import { encoded, isLarge, jsonText, LargeJson, largeObject, parsedMembers, partsOf } from './large-json.ts'
import type { JsonText } from './large-json.ts'
import { answerText } from './message.ts'
import type { ServerLines } from './server-lines.ts'
import { shareServer } from './shared-server.ts'

const HEAVY = `[${'{},'.repeat(299_999)}{}]`

const written = (text: JsonText) => Buffer.concat(encoded(partsOf(text))).toString()

async function read(text: string) {
  const bytes = Buffer.from(text)
  const scan = await scanInTurns(bytes)
  return { value: largeObject(bytes, scan), scan }
}

test('parses the small members of a large message, and keeps the text of the others', async () => {
  const text = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1},"arguments":{"n":12345678901234567890,"a":${HEAVY}}}}`
  const { value, scan } = await read(text)
  expect(isLarge(scan)).toBe(true)
  expect(value).toMatchObject({ id: 7, method: 'tools/call', params: { name: 'x', _meta: { progressToken: 1 } } })
  expect(value).toMatchObject({ params: { arguments: expect.any(LargeJson) } })
  // Digits that a number cannot hold are still there.
  expect(written(jsonText(value))).toBe(text)
})

test('writes large values wherever they are, beside texts that look like anything', () => {
  const large = new LargeJson(Buffer.from('[1,2]'), 2)
  expect(written(jsonText({ a: { b: [large, 'large-0', { c: large }] }, d: '"' }))).toBe(
    '{"a":{"b":[[1,2],"large-0",{"c":[1,2]}]},"d":"\\""}',
  )
  expect(JSON.stringify({ large })).toBe('{"large":[1,2]}')
})

test('does not copy large values', () => {
  const large = new LargeJson(Buffer.from(HEAVY), 300_000)
  expect(partsOf(jsonText({ a: large }))).toContain(large.bytes)
})

test('refuses what is not UTF-8, so that no bytes are passed on that are not JSON', async () => {
  const bytes = Buffer.from(`{"a":"${'x'.repeat(20_000)}"}`)
  const scan = await scanInTurns(bytes)
  expect(largeObject(bytes, scan)).toMatchObject({ a: expect.any(LargeJson) })
  bytes[100] = 0xff
  expect(largeObject(bytes, scan)).toBeNull()
})

test('takes the last of members with one name, as JSON.parse does, and knows no prototype', async () => {
  const { value } = await read(`{"params":{"a":1},"params":{"name":"${'b'.repeat(20_000)}","name":2},"__proto__":{"x":1}}`)
  expect(value?.['params']).toEqual({ name: 2 })
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
})

test('keeps a member whole when there are too many below it, and refuses too many members', async () => {
  const many = Array.from({ length: 2_000 }, (_, at) => `"a${at}":"${'x'.repeat(10)}"`).join(',')
  expect((await read(`{"id":1,"params":{${many}}}`)).value?.['params']).toBeInstanceOf(LargeJson)
  expect((await read(`{${many}}`)).value).toBeNull()
  expect((await read('[1]')).value).toBeNull()
  expect((await read('{"a":')).value).toBeNull()
})

test('parses large members after all only up to a limit', () => {
  expect(parsedMembers({ tools: new LargeJson(Buffer.from('[1]'), 1), a: 2 })).toEqual({ tools: [1], a: 2 })
  expect(() => parsedMembers({ tools: new LargeJson(Buffer.from(HEAVY), 300_000) })).toThrow('above')
  expect(() => parsedMembers({ tools: new LargeJson(Buffer.from('"xxx"'), 0) }, 3)).toThrow('above 3 bytes')
})

/** A server that answers each request with this result, in pieces as a pipe gives them. */
function linesAnswering(result: string): ServerLines {
  const printed: Buffer[] = []
  let wake: (() => void) | null = null
  const ended = Promise.withResolvers<unknown>()
  return {
    async next() {
      while (printed.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      return printed.shift() ?? null
    },
    async write(pieces) {
      const { id } = JSON.parse(Buffer.concat(pieces).toString()) as { id: number }
      const line = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`)
      for (let at = 0; at < line.length; at += 65_536) printed.push(line.subarray(at, at + 65_536))
      wake?.()
    },
    ended: ended.promise,
    close: () => undefined,
  }
}

test('passes a large answer of an MCP server on as text, and lets other work run meanwhile', async () => {
  const result = `{"content":[],"structuredContent":{"list":${HEAVY}},"isError":false}`
  const server = shareServer({
    ...{ lines: linesAnswering(result), clientInfo: {}, clock: Date.now, log: jsonLog('error'), onLog: () => undefined },
    known: { era: 'legacy', protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} },
  })
  const client = server.connect({ info: {}, capabilities: {}, onNotification: () => undefined })
  let turns = 0
  const counting = setInterval(() => (turns += 1), 0)
  const reply = await client.request({ method: 'tools/call', params: { name: 'x' } })
  clearInterval(counting)
  expect(written(answerText(5, reply))).toBe(`{"jsonrpc":"2.0","id":5,"result":${result}}`)
  expect('result' in reply && reply.result['isError']).toBe(false)
  expect(turns).toBeGreaterThan(0)
  // A list of tools has to be looked at.
  await expect(client.request({ method: 'tools/list' })).rejects.toMatchObject({ code: 'mcp_message_too_large' })
  client.close()
  server.close()
  await delay(0)
})
