/** What a model is told of its app, by connections to servers on this machine instead of a sandbox's. */
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { HoldfastError } from '@holdfast/protocol'
import { afterEach, expect, test } from 'vitest'
import { sampleSession } from '../sessions/contract/sample-session.ts'
import { previewTool } from './preview-tool.ts'
import type { ToolCall } from './tool.ts'

const endings: (() => void)[] = []
afterEach(() => {
  for (const end of endings.splice(0)) end()
})

async function toolFor(answer: RequestListener, patienceMs = 10_000) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  endings.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const made: number[] = []
  const tool = previewTool({ connect: async () => connect(port, '127.0.0.1') }, patienceMs)
  const call = {
    ...{ session: sampleSession({}), signal: new AbortController().signal },
    async previewLink(asked: number) {
      made.push(asked)
      return { url: 'http://label.localhost:5410/', expires_at: '2030-01-01T00:00:00.000Z' }
    },
  } as unknown as ToolCall
  return { made, run: (path = '/') => tool.run(call, { port: 3000, path }) }
}

test('a page is told with its status, its kind and a link to the same place', async () => {
  const { run } = await toolFor((request, answer) => {
    answer.writeHead(201, { 'content-type': 'text/plain; charset=utf-8' })
    answer.end(`${request.headers.host} ${request.url}`)
  })
  expect(await run('//a?b=c')).toEqual({
    ...{ ok: true, url: 'http://label.localhost:5410//a?b=c', expires_at: '2030-01-01T00:00:00.000Z' },
    ...{ status: 201, content_type: 'text/plain; charset=utf-8', text: 'localhost:3000 //a?b=c', truncated: false },
  })
})

test('whatever the path, the link leads to the app', async () => {
  const { run } = await toolFor((_request, answer) => answer.end())
  for (const path of [
    '/\\evil.example',
    '//evil.example',
    '/\\/evil.example',
    '/@evil.example',
    '/..//evil.example',
    '/:80@evil.example',
  ]) {
    const { url } = (await run(path)) as { readonly url: string }
    expect(new URL(url).host).toBe('label.localhost:5410')
  }
})

test('of a long text the beginning is told, of what is no text nothing', async () => {
  const { run } = await toolFor((request, answer) => {
    answer.setHeader('content-type', request.url === '/text' ? 'application/json' : 'image/png')
    answer.end('é'.repeat(1_000_000))
  })
  expect(await run('/text')).toMatchObject({ text: 'é'.repeat(4_000), truncated: true })
  expect(await run('/image')).toMatchObject({ status: 200, text: null, truncated: true })
})

test('an answer without an end is told as far as it came', async () => {
  const { run } = await toolFor((_request, answer) => {
    answer.setHeader('content-type', 'text/event-stream')
    answer.write('data: first\n\n')
  }, 100)
  expect(await run()).toMatchObject({ ok: true, status: 200, text: 'data: first\n\n', truncated: true })
})

test('an app that does not answer, or not in HTTP, is a failure for the model, and no link is made', async () => {
  const silent = await toolFor(() => undefined, 100)
  await expect(silent.run()).rejects.toThrow('did not answer within 0.1 seconds')
  const rude = await toolFor((request) => request.socket.end('nonsense\r\n\r\n'))
  await expect(rude.run()).rejects.toThrow('closed the connection without an answer of HTTP')
  expect([...silent.made, ...rude.made]).toEqual([])
})

test('what keeps it from connecting is told as it is', async () => {
  const refusal = new HoldfastError('connection_refused', 'nothing listens')
  const tool = previewTool({ connect: () => Promise.reject(refusal) })
  const call = { session: sampleSession({}), signal: new AbortController().signal } as unknown as ToolCall
  await expect(tool.run(call, { port: 1, path: '/' })).rejects.toBe(refusal)
})
