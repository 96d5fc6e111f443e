/** Answers of apps on this machine that come too late, or are none. */
import { once } from 'node:events'
import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import type { RequestListener } from 'node:http'
import { connect, Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { requestOver } from '../../sessions/http-over-port.ts'
import { answered } from './exchange.ts'

const endings: (() => void)[] = []
afterEach(() => {
  for (const end of endings.splice(0)) end()
})

async function ask(answerTo: RequestListener) {
  const app = createServer(answerTo)
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  endings.push(() => {
    app.closeAllConnections()
    app.close()
  })
  const connection = connect((app.address() as AddressInfo).port, '127.0.0.1')
  const inner = requestOver(connection, { method: 'GET', path: '/', headers: { host: 'localhost' } })
  inner.end()
  return { inner, connection, answer: new ServerResponse(new IncomingMessage(new Socket())) }
}

test('an answer for a client that has just left is let go of, and its connection ends', async () => {
  const { inner, connection, answer } = await ask((_request, app) => void app.write('too late'))
  const closed = once(connection, 'close')
  answer.destroy()
  await expect(answered(inner, connection, answer, () => ({}))).rejects.toMatchObject({ code: 'request_cancelled' })
  await closed
})

test('an answer is whole when it is, whatever the app says after it', async () => {
  const long = 'x'.repeat(200_000)
  const { inner, connection } = await ask((_request, app) => {
    app.socket?.write(`HTTP/1.1 200 OK\r\ncontent-length: ${long.length}\r\n\r\n${long}and more`)
  })
  const front = createServer(
    (_request, answer) =>
      void answered(inner, connection, answer, ({ headers }) => ({ 'content-length': headers['content-length'] ?? '' })),
  )
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  endings.push(() => front.close())
  const told = await fetch(`http://127.0.0.1:${(front.address() as AddressInfo).port}/`)
  expect(await told.text()).toBe(long)
})

test('an answer whose headers cannot be written is none', async () => {
  const { inner, connection, answer } = await ask((_request, app) => app.end('whatever'))
  const closed = once(connection, 'close')
  const asked = answered(inner, connection, answer, () => ({ 'x-a': 'one\r\nset-cookie: evil=1' }))
  await expect(asked).rejects.toMatchObject({ code: 'preview_failed', details: { parser: 'ERR_INVALID_CHAR' } })
  await closed
  expect(answer.headersSent).toBe(false)
})
