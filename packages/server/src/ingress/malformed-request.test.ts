/** What is no request is refused as one: with a problem document, over a real socket. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { ProblemDocument } from '@holdfast/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listen } from './http-listener.ts'
import type { HttpListener } from './http-listener.ts'

let listener: HttpListener
const slow = Promise.withResolvers<void>()
beforeAll(async () => {
  const answer = async (request: Request) => {
    if (request.url.endsWith('/slow')) await slow.promise
    return new Response('fine', { headers: { 'content-type': 'application/json' } })
  }
  listener = await listen(answer, (_request, socket) => socket.destroy(), '127.0.0.1', 0)
})
afterAll(() => listener.close())

async function say(bytes: string): Promise<string> {
  const socket = connect(listener.port, '127.0.0.1')
  socket.end(bytes, 'latin1')
  return text(socket)
}

test.each([
  ['an octet that no header may have', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n', 400, 'invalid_request'],
  ['no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
  ['a host that is none', 'GET / HTTP/1.1\r\nHost: ../\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
  ['an address that is none', 'GET * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400, 'invalid_request'],
  ['another protocol', 'SSH-2.0-client\r\n\r\n', 400, 'invalid_request'],
  ['too many headers', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`, 431, 'headers_too_large'],
])('%s', async (_what, bytes, status, code) => {
  const [head = '', body = ''] = (await say(bytes)).split('\r\n\r\n')
  const document = /transfer-encoding: chunked/i.test(head) ? body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1) : body
  const problem = ProblemDocument.parse(JSON.parse(document))
  expect(head).toContain(`HTTP/1.1 ${status} `)
  expect(head.toLowerCase()).toContain('content-type: application/problem+json')
  expect(head).toContain(`x-request-id: ${problem.request_id}`)
  expect([problem.status, problem.code]).toEqual([status, code])
})

test('an expectation that nobody knows keeps nobody from an answer', async () => {
  const said = await say('GET / HTTP/1.1\r\nHost: a\r\nExpect: the-unexpected\r\nConnection: close\r\n\r\n')
  expect(said).toMatch(/^HTTP\/1\.1 200 [^]*fine$/)
})

test('what is no request behind one that is being answered does not mix with its answer', async () => {
  const socket = connect(listener.port, '127.0.0.1')
  socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(socket, 'connect')
  socket.write('nonsense\r\n\r\n')
  const said = text(socket)
  slow.resolve()
  expect([...(await said).matchAll(/HTTP\/1\.1 \d+/g)].length).toBeLessThanOrEqual(1)
})
