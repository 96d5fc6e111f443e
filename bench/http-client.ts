/**
 * Calls of the server's own API over kept connections, with as little of a client's own work as Node allows.
 */
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { ServerProcess } from './server-process.ts'

export interface HttpClient {
  get(path: string): Promise<string>
  post(path: string, body: object): Promise<string>
  put(path: string, content: string): Promise<string>
  /** Milliseconds until the first event of that name; the stream is read to its end. */
  untilEvent(path: string, body: object, event: string): Promise<number>
  close(): void
}

export function httpClient({ port, key }: ServerProcess): HttpClient {
  const agent = new Agent({ keepAlive: true })

  function send(method: string, path: string, body: object | string, accept: string): Promise<IncomingMessage> {
    const content = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { authorization: `Bearer ${key}`, accept, 'content-length': Buffer.byteLength(content) }
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, agent, method, path, headers }, resolve)
      sent.once('error', reject)
      sent.end(content)
    })
  }

  async function answerTo(method: string, path: string, body: object | string): Promise<string> {
    const response = await send(method, path, body, 'application/json')
    const content = await text(response)
    if ((response.statusCode ?? 500) >= 300) throw new Error(`${method} ${path} was answered with ${response.statusCode}: ${content}`)
    return content
  }

  return {
    get: (path) => answerTo('GET', path, ''),
    post: (path, body) => answerTo('POST', path, body),
    put: (path, content) => answerTo('PUT', path, content),
    async untilEvent(path, body, event) {
      const startedAt = performance.now()
      const response = await send('POST', path, body, 'text/event-stream')
      let seen = ''
      let took: number | null = null
      for await (const chunk of response.setEncoding('utf8')) {
        seen += String(chunk)
        if (took === null && seen.includes(`event: ${event}\n`)) took = performance.now() - startedAt
      }
      if (took === null) throw new Error(`${path} told no ${event}: ${seen}`)
      return took
    },
    close: () => agent.destroy(),
  }
}
